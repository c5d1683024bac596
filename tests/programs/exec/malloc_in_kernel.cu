// `malloc`, `free`, `new` and `delete` in a kernel.
#include "check.h"

struct Node {
    int value;
    Node* next;
};

__global__ void lists(int* out) {
    Node* head = nullptr;
    for (int i = 0; i < 5; i++) {
        Node* node = static_cast<Node*>(malloc(sizeof(Node)));
        node->value = i * (threadIdx.x + 1);
        node->next = head;
        head = node;
    }
    int* scratch = new int[4];
    for (int i = 0; i < 4; i++) scratch[i] = i;
    int sum = scratch[3];
    delete[] scratch;
    while (head) {
        Node* next = head->next;
        sum += head->value;
        free(head);
        head = next;
    }
    out[threadIdx.x] = sum;
}

int main() {
    Buffer<int> out(64);
    lists<<<1, 64>>>(out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 64; i++) right &= out[i] == 3 + 10 * (i + 1);
    return finish(right);
}

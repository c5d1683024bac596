__kernel void search(int n, int length, __global const uchar* text, __global const uchar* word,
                     __global uchar* found) {
    int i = get_global_id(0);
    if (i >= n) return;
    int k = 0;
    if (i + length <= n)
        while (k < length && text[i + k] == word[k]) k++;
    found[i] = k == length;
}

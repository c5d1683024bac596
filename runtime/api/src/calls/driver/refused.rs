//! Functions of the driver API that are not supported. They are exported so that programs link. A call
//! prints the function's name, once, and fails with `CUDA_ERROR_NOT_SUPPORTED`.

use crate::calls::driver::export::{Needs, enter};
use crate::calls::export::refuse;
use crate::host::results::CUresult;

refuse! {
    enter(Needs::Nothing) -> CUresult;
    "checkpoints of processes": cuCheckpointProcessCheckpoint cuCheckpointProcessGetRestoreThreadId
        cuCheckpointProcessGetState cuCheckpointProcessLock cuCheckpointProcessRestore
        cuCheckpointProcessUnlock;
    "core dumps": cuCoredumpGetAttribute cuCoredumpGetAttributeGlobal cuCoredumpSetAttribute
        cuCoredumpSetAttributeGlobal;
    "green contexts and parts of the device": cuCtxFromGreenCtx cuCtxGetDevResource cuCtxRecordEvent
        cuCtxWaitEvent cuDevResourceGenerateDesc cuDevSmResourceSplitByCount cuDeviceGetDevResource
        cuGreenCtxCreate cuGreenCtxDestroy cuGreenCtxGetDevResource cuGreenCtxGetId cuGreenCtxRecordEvent
        cuGreenCtxStreamCreate cuGreenCtxWaitEvent cuStreamGetGreenCtx;
    "affinities of contexts": cuCtxGetExecAffinity;
    "functions that CUDA has deprecated": cuCtxAttach cuCtxDetach cuDeviceGetProperties
        cuLaunchCooperativeKernelMultiDevice cuParamSetTexRef;
    "texture and surface references": cuModuleGetSurfRef cuModuleGetTexRef cuSurfRefGetArray
        cuSurfRefSetArray cuTexRefCreate cuTexRefDestroy cuTexRefGetAddressMode cuTexRefGetAddress_v2
        cuTexRefGetArray cuTexRefGetBorderColor cuTexRefGetFilterMode cuTexRefGetFlags cuTexRefGetFormat
        cuTexRefGetMaxAnisotropy cuTexRefGetMipmapFilterMode cuTexRefGetMipmapLevelBias
        cuTexRefGetMipmapLevelClamp cuTexRefGetMipmappedArray cuTexRefSetAddress2D_v3 cuTexRefSetAddressMode
        cuTexRefSetAddress_v2 cuTexRefSetArray cuTexRefSetBorderColor cuTexRefSetFilterMode cuTexRefSetFlags
        cuTexRefSetFormat cuTexRefSetMaxAnisotropy cuTexRefSetMipmapFilterMode cuTexRefSetMipmapLevelBias
        cuTexRefSetMipmapLevelClamp cuTexRefSetMipmappedArray;
    "mipmapped, sparse and planar arrays": cuArrayGetMemoryRequirements cuArrayGetPlane
        cuArrayGetSparseProperties cuMemMapArrayAsync cuMipmappedArrayCreate cuMipmappedArrayDestroy
        cuMipmappedArrayGetLevel cuMipmappedArrayGetMemoryRequirements cuMipmappedArrayGetSparseProperties;
    "queries of textures and surfaces by the driver API": cuDeviceGetTexture1DLinearMaxWidth
        cuSurfObjectGetResourceDesc cuTexObjectGetResourceDesc cuTexObjectGetResourceViewDesc
        cuTexObjectGetTextureDesc;
    "tensor maps for images, and changes of tensor maps": cuTensorMapEncodeIm2col
        cuTensorMapEncodeIm2colWide cuTensorMapReplaceAddress;
    "external memory and semaphores": cuDestroyExternalMemory cuDestroyExternalSemaphore
        cuDeviceGetNvSciSyncAttributes cuExternalMemoryGetMappedBuffer
        cuExternalMemoryGetMappedMipmappedArray cuGraphAddExternalSemaphoresSignalNode
        cuGraphAddExternalSemaphoresWaitNode cuGraphExecExternalSemaphoresSignalNodeSetParams
        cuGraphExecExternalSemaphoresWaitNodeSetParams cuGraphExternalSemaphoresSignalNodeGetParams
        cuGraphExternalSemaphoresSignalNodeSetParams cuGraphExternalSemaphoresWaitNodeGetParams
        cuGraphExternalSemaphoresWaitNodeSetParams cuImportExternalMemory cuImportExternalSemaphore
        cuSignalExternalSemaphoresAsync cuWaitExternalSemaphoresAsync;
    "graphics resources": cuGraphicsMapResources cuGraphicsResourceGetMappedMipmappedArray
        cuGraphicsResourceGetMappedPointer_v2 cuGraphicsResourceSetMapFlags_v2
        cuGraphicsSubResourceGetMappedArray cuGraphicsUnmapResources cuGraphicsUnregisterResource;
    "handles for other processes": cuIpcCloseMemHandle cuIpcGetEventHandle cuIpcGetMemHandle
        cuIpcOpenEventHandle cuIpcOpenMemHandle_v2 cuMemExportToShareableHandle
        cuMemGetHandleForAddressRange cuMemImportFromShareableHandle cuMemPoolExportPointer
        cuMemPoolExportToShareableHandle cuMemPoolImportFromShareableHandle cuMemPoolImportPointer;
    "virtual memory and multicast": cuMemAddressFree cuMemAddressReserve cuMemCreate cuMemGetAccess
        cuMemGetAllocationGranularity cuMemGetAllocationPropertiesFromHandle cuMemMap cuMemRelease
        cuMemRetainAllocationHandle cuMemSetAccess cuMemUnmap cuMulticastAddDevice cuMulticastBindAddr
        cuMulticastBindMem cuMulticastCreate cuMulticastGetGranularity cuMulticastUnbind;
    "batches of transfers": cuGraphAddBatchMemOpNode cuGraphBatchMemOpNodeGetParams
        cuGraphBatchMemOpNodeSetParams cuGraphExecBatchMemOpNodeSetParams cuMemBatchDecompressAsync
        cuMemDiscardAndPrefetchBatchAsync cuMemDiscardBatchAsync cuMemPrefetchBatchAsync
        cuMemcpy3DBatchAsync_v2 cuMemcpyBatchAsync_v2 cuStreamBatchMemOp_v2;
    "waits for and writes of values": cuStreamWaitValue32_v2 cuStreamWaitValue64_v2 cuStreamWriteValue32_v2
        cuStreamWriteValue64_v2;
    "linking and compiling PTX": cuLinkAddData_v2 cuLinkAddFile_v2 cuLinkComplete cuLinkCreate_v2
        cuLinkDestroy;
    "logs of the driver": cuLogsCurrent cuLogsDumpToFile cuLogsDumpToMemory cuLogsRegisterCallback
        cuLogsUnregisterCallback;
    "user objects": cuGraphReleaseUserObject cuGraphRetainUserObject cuUserObjectCreate cuUserObjectRelease
        cuUserObjectRetain;
    "queries of managed memory": cuMemRangeGetAttribute cuMemRangeGetAttributes;
    "pools of a location": cuMemGetDefaultMemPool cuMemGetMemPool cuMemSetMemPool;
    "capabilities of atomics": cuDeviceGetHostAtomicCapabilities cuDeviceGetP2PAtomicCapabilities;
    "notifications": cuDeviceRegisterAsyncNotification cuDeviceUnregisterAsyncNotification;
    "copies between devices in three dimensions": cuMemcpy3DPeer cuMemcpy3DPeerAsync;
    "captures into a graph that is there already": cuStreamBeginCaptureToGraph
        cuStreamUpdateCaptureDependencies_v2;
    "graph nodes of any kind and conditional nodes": cuGraphAddNode_v2 cuGraphConditionalHandleCreate
        cuGraphExecNodeSetParams cuGraphNodeSetParams;
    "attributes of kernel nodes": cuGraphKernelNodeCopyAttributes cuGraphKernelNodeGetAttribute
        cuGraphKernelNodeSetAttribute;
    "parameters of instantiation": cuGraphInstantiateWithParams;
    "drawings of graphs": cuGraphDebugDotPrint;
    "these queries and updates of graph nodes": cuGraphEventRecordNodeGetEvent
        cuGraphEventRecordNodeSetEvent cuGraphEventWaitNodeGetEvent cuGraphEventWaitNodeSetEvent
        cuGraphExecChildGraphNodeSetParams cuGraphExecEventRecordNodeSetEvent
        cuGraphExecEventWaitNodeSetEvent cuGraphHostNodeGetParams cuGraphKernelNodeGetParams_v2
        cuGraphMemcpyNodeGetParams cuGraphMemsetNodeGetParams;
    "tables of NVIDIA's own functions": cuGetExportTable;
    "unified functions": cuLibraryGetUnifiedFunction;
    "identifiers of Windows": cuDeviceGetLuid;
}

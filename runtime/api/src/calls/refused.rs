//! Functions that are not supported. They are exported so that programs link. A call prints the
//! function's name, once, and fails with `cudaErrorNotSupported`.

use crate::calls::export::{enter, refuse};
use crate::host::errors::Error;

refuse! {
    enter(false) -> Error;
    "views of resources": cudaGetTextureObjectResourceViewDesc;
    "mipmapped, sparse and planar arrays": cudaMallocMipmappedArray cudaFreeMipmappedArray
        cudaGetMipmappedArrayLevel cudaArrayGetPlane cudaArrayGetMemoryRequirements
        cudaArrayGetSparseProperties cudaMipmappedArrayGetMemoryRequirements
        cudaMipmappedArrayGetSparseProperties;
    "handles for other processes": cudaIpcGetEventHandle cudaIpcOpenEventHandle
        cudaIpcGetMemHandle cudaIpcOpenMemHandle cudaIpcCloseMemHandle
        cudaMemPoolExportToShareableHandle cudaMemPoolImportFromShareableHandle
        cudaMemPoolExportPointer cudaMemPoolImportPointer;
    "external memory and semaphores": cudaImportExternalMemory cudaExternalMemoryGetMappedBuffer
        cudaExternalMemoryGetMappedMipmappedArray cudaDestroyExternalMemory
        cudaImportExternalSemaphore cudaDestroyExternalSemaphore
        cudaSignalExternalSemaphoresAsync cudaWaitExternalSemaphoresAsync
        cudaSignalExternalSemaphoresAsync_v2 cudaWaitExternalSemaphoresAsync_v2
        cudaDeviceGetNvSciSyncAttributes;
    "graphics resources": cudaGraphicsUnregisterResource cudaGraphicsResourceSetMapFlags
        cudaGraphicsMapResources cudaGraphicsUnmapResources cudaGraphicsResourceGetMappedPointer
        cudaGraphicsSubResourceGetMappedArray cudaGraphicsResourceGetMappedMipmappedArray
        cudaGraphicsGLRegisterBuffer cudaGraphicsGLRegisterImage cudaGLGetDevices cudaGLSetGLDevice
        cudaGLRegisterBufferObject cudaGLUnregisterBufferObject cudaGLMapBufferObject
        cudaGLMapBufferObjectAsync cudaGLUnmapBufferObject cudaGLUnmapBufferObjectAsync
        cudaGLSetBufferObjectMapFlags cudaGraphicsEGLRegisterImage cudaGraphicsVDPAURegisterVideoSurface
        cudaGraphicsVDPAURegisterOutputSurface cudaVDPAUGetDevice cudaVDPAUSetVDPAUDevice
        cudaEventCreateFromEGLSync;
    "launches on several devices": cudaLaunchCooperativeKernelMultiDevice;
    "queries of managed memory": cudaMemRangeGetAttribute cudaMemRangeGetAttributes;
    "libraries of kernels": cudaLibraryEnumerateKernels cudaLibraryGetGlobal cudaLibraryGetKernel
        cudaLibraryGetKernelCount cudaLibraryGetManaged cudaLibraryGetUnifiedFunction cudaLibraryLoadData
        cudaLibraryLoadFromFile cudaLibraryUnload cudaKernelSetAttributeForDevice;
    "logs of the driver": cudaLogsCurrent cudaLogsDumpToFile cudaLogsDumpToMemory cudaLogsRegisterCallback
        cudaLogsUnregisterCallback;
    "batches of transfers": cudaMemcpyBatchAsync cudaMemcpy3DBatchAsync cudaMemPrefetchBatchAsync
        cudaMemDiscardBatchAsync cudaMemDiscardAndPrefetchBatchAsync;
    "pools of a location": cudaMemGetDefaultMemPool cudaMemGetMemPool cudaMemSetMemPool;
    "capabilities of atomics": cudaDeviceGetHostAtomicCapabilities cudaDeviceGetP2PAtomicCapabilities;
    "notifications": cudaDeviceRegisterAsyncNotification cudaDeviceUnregisterAsyncNotification;
    "tables of NVIDIA's own functions": cudaGetExportTable;
    "user objects": cudaUserObjectCreate cudaUserObjectRetain cudaUserObjectRelease
        cudaGraphRetainUserObject cudaGraphReleaseUserObject;
    "captures into a graph that is there already": cudaStreamBeginCaptureToGraph
        cudaStreamBeginCaptureToGraph_ptsz cudaStreamUpdateCaptureDependencies
        cudaStreamUpdateCaptureDependencies_v2;
    "graph nodes of any kind and conditional nodes": cudaGraphAddNode cudaGraphAddNode_v2 cudaGraphNodeSetParams
        cudaGraphExecNodeSetParams cudaGraphConditionalHandleCreate;
    "attributes of kernel nodes": cudaGraphKernelNodeCopyAttributes cudaGraphKernelNodeGetAttribute
        cudaGraphKernelNodeSetAttribute;
    "these updates of graph nodes": cudaGraphMemcpyNodeGetParams cudaGraphMemcpyNodeSetParamsToSymbol
        cudaGraphMemcpyNodeSetParamsFromSymbol cudaGraphMemsetNodeGetParams cudaGraphHostNodeGetParams
        cudaGraphEventRecordNodeGetEvent cudaGraphEventRecordNodeSetEvent
        cudaGraphEventWaitNodeGetEvent cudaGraphEventWaitNodeSetEvent
        cudaGraphExecMemcpyNodeSetParamsToSymbol cudaGraphExecMemcpyNodeSetParamsFromSymbol
        cudaGraphExecChildGraphNodeSetParams cudaGraphExecEventRecordNodeSetEvent
        cudaGraphExecEventWaitNodeSetEvent;
    "external semaphores": cudaGraphAddExternalSemaphoresSignalNode cudaGraphAddExternalSemaphoresWaitNode
        cudaGraphExternalSemaphoresSignalNodeGetParams cudaGraphExternalSemaphoresSignalNodeSetParams
        cudaGraphExternalSemaphoresWaitNodeGetParams cudaGraphExternalSemaphoresWaitNodeSetParams
        cudaGraphExecExternalSemaphoresSignalNodeSetParams
        cudaGraphExecExternalSemaphoresWaitNodeSetParams;
    "parameters of instantiation": cudaGraphInstantiateWithParams cudaGraphInstantiateWithParams_ptsz;
    "drawings of graphs": cudaGraphDebugDotPrint;
}

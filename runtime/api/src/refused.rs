//! What is not supported: each function is there, so that programs which only
//! may call it link, says its name once and fails with `cudaErrorNotSupported`.

use crate::edge::enter;
use crate::errors::Error;
use crate::message;

macro_rules! refuse {
    ($($what:literal: $($name:ident)*;)*) => {
        /// The refused functions.
        pub const ALL: &[&str] = &[$($(stringify!($name)),*),*];

        $($(
            #[doc = concat!("Refused: ", $what, " are not supported.")]
            #[unsafe(no_mangle)]
            pub extern "C" fn $name() -> Error {
                enter(stringify!($name), false, || {
                    message::error_once(concat!("`", stringify!($name), "`: ", $what, " are not supported on the CPU executor"));
                    Err(Error::NOT_SUPPORTED)
                })
            }
        )*)*
    };
}

// Arguments are not looked at, so none are declared: the caller passes them in
// registers and on its own stack, where they do no harm.
refuse! {
    "textures": cudaCreateTextureObject cudaDestroyTextureObject
        cudaGetTextureObjectResourceDesc cudaGetTextureObjectTextureDesc
        cudaGetTextureObjectResourceViewDesc cudaDeviceGetTexture1DLinearMaxWidth;
    "surfaces": cudaCreateSurfaceObject cudaDestroySurfaceObject cudaGetSurfaceObjectResourceDesc;
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
    "notifications": cudaDeviceRegisterAsyncNotification cudaDeviceUnregisterAsyncNotification;
    "functions of the CUDA driver": cudaGetDriverEntryPoint cudaGetDriverEntryPointByVersion
        cudaGetExportTable;
    "user objects": cudaUserObjectCreate cudaUserObjectRetain cudaUserObjectRelease
        cudaGraphRetainUserObject cudaGraphReleaseUserObject;
    "graphs": cudaStreamBeginCapture cudaStreamBeginCaptureToGraph cudaStreamEndCapture
        cudaStreamUpdateCaptureDependencies cudaStreamUpdateCaptureDependencies_v2
        cudaThreadExchangeStreamCaptureMode cudaStreamGetCaptureInfo_v3
        cudaStreamBeginCapture_ptsz cudaStreamBeginCaptureToGraph_ptsz cudaStreamEndCapture_ptsz
        cudaGraphInstantiateWithParams_ptsz cudaGraphUpload_ptsz cudaGraphLaunch_ptsz
        cudaGraphCreate cudaGraphAddKernelNode cudaGraphKernelNodeGetParams
        cudaGraphKernelNodeSetParams cudaGraphKernelNodeCopyAttributes
        cudaGraphKernelNodeGetAttribute cudaGraphKernelNodeSetAttribute cudaGraphAddMemcpyNode
        cudaGraphAddMemcpyNodeToSymbol cudaGraphAddMemcpyNodeFromSymbol cudaGraphAddMemcpyNode1D
        cudaGraphMemcpyNodeGetParams cudaGraphMemcpyNodeSetParams
        cudaGraphMemcpyNodeSetParamsToSymbol cudaGraphMemcpyNodeSetParamsFromSymbol
        cudaGraphMemcpyNodeSetParams1D cudaGraphAddMemsetNode cudaGraphMemsetNodeGetParams
        cudaGraphMemsetNodeSetParams cudaGraphAddHostNode cudaGraphHostNodeGetParams
        cudaGraphHostNodeSetParams cudaGraphAddChildGraphNode cudaGraphChildGraphNodeGetGraph
        cudaGraphAddEmptyNode cudaGraphAddEventRecordNode cudaGraphEventRecordNodeGetEvent
        cudaGraphEventRecordNodeSetEvent cudaGraphAddEventWaitNode cudaGraphEventWaitNodeGetEvent
        cudaGraphEventWaitNodeSetEvent cudaGraphAddExternalSemaphoresSignalNode
        cudaGraphAddExternalSemaphoresWaitNode
        cudaGraphExternalSemaphoresSignalNodeGetParams cudaGraphExternalSemaphoresSignalNodeSetParams
        cudaGraphExternalSemaphoresWaitNodeGetParams cudaGraphExternalSemaphoresWaitNodeSetParams
        cudaGraphExecExternalSemaphoresSignalNodeSetParams
        cudaGraphExecExternalSemaphoresWaitNodeSetParams cudaGraphAddMemAllocNode
        cudaGraphMemAllocNodeGetParams cudaGraphAddMemFreeNode cudaGraphMemFreeNodeGetParams
        cudaDeviceGraphMemTrim cudaDeviceGetGraphMemAttribute cudaDeviceSetGraphMemAttribute
        cudaGraphClone cudaGraphNodeFindInClone cudaGraphNodeGetType cudaGraphGetNodes
        cudaGraphGetRootNodes cudaGraphGetEdges cudaGraphGetEdges_v2 cudaGraphNodeGetDependencies
        cudaGraphNodeGetDependencies_v2 cudaGraphNodeGetDependentNodes
        cudaGraphNodeGetDependentNodes_v2 cudaGraphAddDependencies cudaGraphAddDependencies_v2
        cudaGraphRemoveDependencies cudaGraphRemoveDependencies_v2 cudaGraphDestroyNode
        cudaGraphInstantiate cudaGraphInstantiateWithFlags cudaGraphInstantiateWithParams
        cudaGraphExecGetFlags cudaGraphExecKernelNodeSetParams cudaGraphExecMemcpyNodeSetParams
        cudaGraphExecMemcpyNodeSetParamsToSymbol cudaGraphExecMemcpyNodeSetParamsFromSymbol
        cudaGraphExecMemcpyNodeSetParams1D cudaGraphExecMemsetNodeSetParams
        cudaGraphExecHostNodeSetParams cudaGraphExecChildGraphNodeSetParams
        cudaGraphExecEventRecordNodeSetEvent cudaGraphExecEventWaitNodeSetEvent
        cudaGraphNodeSetEnabled cudaGraphNodeGetEnabled cudaGraphExecUpdate cudaGraphUpload
        cudaGraphLaunch cudaGraphExecDestroy cudaGraphDestroy cudaGraphDebugDotPrint
        cudaGraphAddNode cudaGraphAddNode_v2 cudaGraphNodeSetParams cudaGraphExecNodeSetParams
        cudaGraphConditionalHandleCreate;
}

crate::edge::api! {
    // No stream captures, which is what programs ask before they decide.
    @ptsz fn cudaStreamIsCapturing(_stream: crate::types::cudaStream_t, status: *mut u32) {
        crate::edge::put(status, 0)
    }

    @ptsz fn cudaStreamGetCaptureInfo_v2(
        _stream: crate::types::cudaStream_t,
        status: *mut u32,
        id: *mut u64,
        _graph: *mut *mut std::ffi::c_void,
        _dependencies: *mut *const std::ffi::c_void,
        _count: *mut usize,
    ) {
        if !id.is_null() {
            crate::edge::put(id, 0)?;
        }
        crate::edge::put(status, 0)
    }
}

export { mountsBelow } from '../pod-directories.ts';
export { createProcessRuntime, type ProcessRuntime, type ProcessRuntimeOptions } from './process-runtime.ts';

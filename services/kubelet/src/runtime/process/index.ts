export { createProcessRuntime, type ProcessRuntime, type ProcessRuntimeOptions } from './process-runtime.ts';

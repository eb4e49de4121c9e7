export { type CriRuntimeOptions, createCriRuntime } from './cri-runtime.ts';

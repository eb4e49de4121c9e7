export { type CriRuntimeOptions, createCriRuntime, openCriRuntime } from './cri-runtime.ts';

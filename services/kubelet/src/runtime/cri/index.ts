export { type CriRuntimeOptions, createCriRuntime, openCriRuntime, readCriVersion } from './cri-runtime.ts';

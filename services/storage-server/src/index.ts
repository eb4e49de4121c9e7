export { createStorageServer, type StorageServer, type StorageServerDeps } from './app.ts';
export { openDirectoryBackend } from './backends/directory/directory-backend.ts';
export { createMemoryBackend } from './backends/memory-backend.ts';
export type { VolumeBackend, VolumeData } from './backends/port.ts';

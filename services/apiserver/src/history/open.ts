import { createDirectorySegments } from './directory-segments.ts';
import type { HistoryOptions } from './history.ts';
import { createMemorySegments } from './segment-store.ts';
import type { HistoryConfig } from './settings.ts';

/** Without a directory the history ends with the process. */
export function historyOptions(config: HistoryConfig, directory: string | undefined): HistoryOptions {
  return {
    ...config,
    segments: directory === undefined ? createMemorySegments() : createDirectorySegments(directory),
  };
}

import { copyFileSync, rmSync, statSync, truncateSync } from 'node:fs';
import type { Clock } from '@holdfast/platform';
import { LOG_CHECK_MS, LOG_MAX_BYTES } from './limits.ts';
import { timesPath } from './log-times.ts';

/**
 * Keeps one older file per container. The writers hold the file open for appending, so it is emptied in place: lines
 * written between the copy and the truncation are lost, a full disk is not risked.
 */
export function createLogKeeper(clock: Clock, paths: () => readonly string[]): void {
  const check = (): void => {
    for (const path of paths()) rotate(path);
    clock.timer(LOG_CHECK_MS, check);
  };
  clock.timer(LOG_CHECK_MS, check);
}

export function rotate(path: string, maxBytes: number = LOG_MAX_BYTES): void {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (size <= maxBytes) return;
  try {
    copyFileSync(path, `${path}.1`);
  } catch {
    // The disk is full: half a copy helps nobody, and what follows makes room.
    rmSync(`${path}.1`, { force: true });
  }
  truncateSync(path, 0);
  rmSync(timesPath(path), { force: true });
}

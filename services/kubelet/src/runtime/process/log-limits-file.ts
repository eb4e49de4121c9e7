import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DEFAULT_LOG_LIMITS, type LogLimits } from '../log-limits.ts';

const fileIn = (stateDirectory: string): string => join(stateDirectory, 'log-limits.json');

/** In a file: the supervisor that reads it may be older than the kubelet that writes it, and outlives it. */
export function writeLogLimits(stateDirectory: string, limits: LogLimits): void {
  const target = fileIn(stateDirectory);
  writeFileSync(`${target}.new`, JSON.stringify(limits), { mode: 0o600 });
  renameSync(`${target}.new`, target);
}

export function readLogLimits(stateDirectory: string): LogLimits {
  try {
    return { ...DEFAULT_LOG_LIMITS, ...JSON.parse(readFileSync(fileIn(stateDirectory), 'utf8')) };
  } catch {
    return DEFAULT_LOG_LIMITS;
  }
}

import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { environmentName } from '@holdfast/platform/config';
import type { ClusterHome, ClusterRecord } from './cluster-home.ts';
import { isOfThisBoot } from './process-identity.ts';
import { valueOf } from './start-flags.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * True when a server that was killed may have left pods. After another boot no process is left, but an engine keeps
 * containers: only a server can remove these.
 */
export function mayHavePods(home: ClusterHome, record: ClusterRecord, env: Environment): boolean {
  if (record.process === undefined || !existsSync(path.join(home.dataDirectory, 'nodes'))) return false;
  return isOfThisBoot(record.process) || usesContainers(home, record, env);
}

/** True also when it is not known. */
export function usesContainers(home: ClusterHome, { flags }: ClusterRecord, env: Environment): boolean {
  const given = (name: string): string | undefined => valueOf(flags, name) ?? env[environmentName(name)];
  const wanted = given('runtime');
  if (wanted === undefined) return given('container-runtime-endpoint') !== undefined;
  if (wanted !== 'auto') return wanted !== 'process';
  const chosen = path.join(home.dataDirectory, 'runtime');
  return !existsSync(chosen) || readFileSync(chosen, 'utf8').trim() !== 'process';
}

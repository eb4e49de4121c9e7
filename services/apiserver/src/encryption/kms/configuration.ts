import type { JsonObject } from '@holdfast/machinery';
import { parseDuration } from '@holdfast/platform';
import { KMS_TIMEOUT_MS } from '../../limits.ts';
import type { KmsSettings } from './plugin.ts';

export interface ReadKmsSettings {
  readonly settings: KmsSettings | undefined;
  /** Sentences; each begins with its field. */
  readonly mistakes: readonly string[];
}

const FIELDS: ReadonlySet<string> = new Set(['apiVersion', 'name', 'endpoint', 'timeout']);

/** Reads the provider `kms` of an EncryptionConfiguration. */
export function readKmsSettings(config: JsonObject): ReadKmsSettings {
  const { apiVersion = 'v1', name, endpoint, timeout } = config;
  const mistakes: string[] = [];
  if (apiVersion !== 'v2')
    mistakes.push('.apiVersion: must be v2; KMS v1, the default of Kubernetes, is not supported');
  if (typeof name !== 'string' || name === '' || name.includes(':')) mistakes.push('.name: must be a text without ":"');
  const socket = socketOf(endpoint);
  if (socket === undefined) mistakes.push('.endpoint: must be unix:// and the absolute path of a socket');
  const timeoutMs = timeout === undefined ? KMS_TIMEOUT_MS : parseDuration(typeof timeout === 'string' ? timeout : '');
  if (timeoutMs === undefined || timeoutMs <= 0) mistakes.push('.timeout: must be a duration above 0, such as 3s');
  for (const field of Object.keys(config)) {
    if (!FIELDS.has(field)) mistakes.push(`.${field}: is no field of KMS v2`);
  }
  if (mistakes.length > 0 || typeof name !== 'string' || socket === undefined || timeoutMs === undefined) {
    return { settings: undefined, mistakes };
  }
  return { settings: { name, socket, timeoutMs }, mistakes };
}

function socketOf(endpoint: unknown): string | undefined {
  if (typeof endpoint !== 'string' || !endpoint.startsWith('unix://')) return undefined;
  const path = endpoint.slice('unix://'.length);
  return path.startsWith('/') && path.length > 1 && !path.includes('\0') ? path : undefined;
}

import type { APIService, APIServiceStatus } from '@holdfast/api';
import type { ApiHandler, ApiResponse, HttpMethod } from '@holdfast/client';

const PATH = '/apis/apiregistration.k8s.io/v1/apiservices';

export interface ApiServiceWrite {
  readonly method: HttpMethod;
  /** Below the collection: `/v1.apps/status`; '' for the collection. */
  readonly path?: string;
  readonly body?: unknown;
}

/**
 * Writes a registration as the API server itself. Resolves with false when another writer was faster: its event
 * follows.
 */
export async function writeApiService(
  handle: ApiHandler,
  { method, path = '', body }: ApiServiceWrite,
): Promise<boolean> {
  const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
  const answer = await handle({
    method,
    path: `${PATH}${path}`,
    query: new URLSearchParams(),
    headers: { 'content-type': type, 'user-agent': 'kube-apiserver' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (answer.status < 300) return true;
  if (answer.status === 404 || answer.status === 409) return false;
  throw new Error(messageOf(answer));
}

export function writeStatus(handle: ApiHandler, { metadata }: APIService, status: APIServiceStatus): Promise<boolean> {
  const { name = '', resourceVersion = '' } = metadata;
  return writeApiService(handle, {
    method: 'PATCH',
    path: `/${name}/status`,
    body: { metadata: { resourceVersion }, status },
  });
}

function messageOf({ status, body }: ApiResponse): string {
  const value: unknown = body.kind === 'json' ? body.value() : undefined;
  const message: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, 'message') : undefined;
  return `the API answered ${status}: ${typeof message === 'string' ? message : ''}`;
}

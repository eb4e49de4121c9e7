import type { ApiRequest } from '@holdfast/client';

export function bearerToken(request: ApiRequest): string | undefined {
  const header = request.headers['authorization'];
  if (header === undefined) return undefined;
  const match = /^bearer +(\S+) *$/i.exec(header);
  return match?.[1];
}

import type { ApiRequest, ApiResponse } from '@holdfast/client';
import { textAnswer } from './answers.ts';
import { encodingFor } from './negotiation.ts';
import { stringifyYaml } from './yaml.ts';

/** The same answer in YAML, for a client that likes it best: errors, and documents that have no other form. */
export function asAccepted({ headers }: Pick<ApiRequest, 'headers'>, response: ApiResponse): ApiResponse {
  const accept = headers['accept'];
  if (accept === undefined || !accept.includes('yaml')) return response;
  const { body } = response;
  if (body.kind !== 'json' || response.headers['content-type'] !== 'application/json') return response;
  if (encodingFor(accept) !== 'yaml') return response;
  const answer = textAnswer(response.status, stringifyYaml(body.value()), 'application/yaml');
  return { ...answer, headers: { ...response.headers, ...answer.headers } };
}

import type { ApiRequest, ApiResponse } from '@holdfast/client';
import { textAnswer } from './answers.ts';
import { encodingFor } from './negotiation.ts';
import { encoderFor, protobufForm } from './protobuf.ts';
import { stringifyYaml } from './yaml.ts';

/** The same answer as a client likes it best: errors, and documents that have no other form. */
export function asAccepted(
  { headers }: Pick<ApiRequest, 'headers'>,
  response: ApiResponse,
): ApiResponse | Promise<ApiResponse> {
  const accept = headers['accept'];
  if (accept === undefined || accept === 'application/json') return response;
  const { body } = response;
  if (body.kind !== 'json' || response.headers['content-type'] !== 'application/json') return response;
  const encoding = encodingFor(accept);
  if (encoding === 'json') return response;
  if (encoding === 'yaml') return inForm(response, textAnswer(response.status, stringifyYaml(body.value()), YAML));
  const encode = (): ApiResponse => inForm(response, protobufForm(response.status, body.value()) ?? response);
  return encoderFor({ headers })?.then(encode) ?? encode();
}

const YAML = 'application/yaml';

const inForm = (response: ApiResponse, answer: ApiResponse): ApiResponse => ({
  ...answer,
  headers: { ...response.headers, ...answer.headers },
});

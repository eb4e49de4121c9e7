import type { ApiRequest, ApiResponse } from '@holdfast/client';
import { textAnswer } from './answers.ts';
import { encodingFor } from './negotiation.ts';
import { encoderFor, optionalProtobufAnswer } from './protobuf.ts';
import { stringifyYaml } from './yaml.ts';

/** The answer in the media type that the client prefers: errors, and documents with no other representation. */
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
  if (encoding === 'yaml') return asType(response, textAnswer(response.status, stringifyYaml(body.value()), YAML));
  const encode = (): ApiResponse => asType(response, optionalProtobufAnswer(response.status, body.value()) ?? response);
  return encoderFor({ headers })?.then(encode) ?? encode();
}

const YAML = 'application/yaml';

const asType = (response: ApiResponse, answer: ApiResponse): ApiResponse => ({
  ...answer,
  headers: { ...response.headers, ...answer.headers },
});

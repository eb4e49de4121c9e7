import type { ApiRequest, ApiResponse } from '@holdfast/client';
import type { Core } from '../core.ts';
import { jsonAnswer } from '../http/answers.ts';

const CONFIGURATION = '/.well-known/openid-configuration';
const KEYS = '/openid/v1/jwks';

/** Lets others verify service account tokens without a request per token. */
export function openIdAnswer({ access }: Core, request: ApiRequest): ApiResponse | undefined {
  const { tokens } = access;
  if (tokens === undefined) return undefined;
  const path = request.path.replace(/\/$/, '');
  if (path === KEYS) return kept(jsonAnswer(200, { keys: tokens.jwks }, 'application/jwk-set+json'));
  if (path !== CONFIGURATION) return undefined;
  const configuration = {
    issuer: tokens.issuer,
    jwks_uri: new URL(KEYS, tokens.issuer).href,
    response_types_supported: ['id_token'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: [...new Set(tokens.jwks.map(({ alg }) => alg))],
  };
  return kept(jsonAnswer(200, configuration));
}

/** Token verifiers may cache it. */
const kept = (answer: ApiResponse): ApiResponse => ({
  ...answer,
  headers: { ...answer.headers, 'cache-control': 'public, max-age=3600' },
});

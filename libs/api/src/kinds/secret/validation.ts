import { type FieldError, forbidden, invalid, required, semanticEqual, tooLong } from '@holdfast/machinery';
import type { Secret } from '../../generated/types.ts';
import { ACCOUNT_NAME_ANNOTATION, ACCOUNT_TOKEN_SECRET, TLS_SECRET } from '../../semantics/well-known.ts';
import { validateText } from '../../validation/check.ts';
import { base64Length, configMapKeyErrors, dnsSubdomainErrors } from '../../validation/formats.ts';
import { goJsonProblem } from '../../validation/go-json.ts';
import { CONFIG_DATA_BYTES_MAX } from '../../validation/limits.ts';
import { IMMUTABLE_TEXT } from '../../validation/numbers.ts';
import { validateObjectMeta, validateObjectMetaUpdate } from '../../validation/object-meta.ts';

const META = { namespaced: true, name: dnsSubdomainErrors } as const;

export function validateSecretCreate(secret: Readonly<Secret>): readonly FieldError[] {
  const out: FieldError[] = [];
  validateSecret(out, secret);
  return out;
}

function validateSecret(out: FieldError[], secret: Readonly<Secret>): void {
  validateObjectMeta(out, secret.metadata, META);
  let total = 0;
  for (const [key, value] of Object.entries(secret.data ?? {})) {
    validateText(out, `data[${key}]`, key, configMapKeyErrors);
    total += base64Length(value);
  }
  if (total > CONFIG_DATA_BYTES_MAX) out.push(tooLong('data', CONFIG_DATA_BYTES_MAX));
  validateForType(out, secret);
}

function validateForType(out: FieldError[], secret: Readonly<Secret>): void {
  const data = secret.data ?? {};
  const needs = (...keys: readonly string[]): void => {
    for (const key of keys) if (!Object.hasOwn(data, key)) out.push(required(`data[${key}]`));
  };
  switch (secret.type ?? '') {
    case ACCOUNT_TOKEN_SECRET:
      if (!secret.metadata.annotations?.[ACCOUNT_NAME_ANNOTATION])
        out.push(required(`metadata.annotations[${ACCOUNT_NAME_ANNOTATION}]`));
      break;
    case 'kubernetes.io/dockercfg':
      needs('.dockercfg');
      validateJson(out, '.dockercfg', data['.dockercfg']);
      break;
    case 'kubernetes.io/dockerconfigjson':
      needs('.dockerconfigjson');
      validateJson(out, '.dockerconfigjson', data['.dockerconfigjson']);
      break;
    case 'kubernetes.io/basic-auth':
      if (data['username'] === undefined && data['password'] === undefined) needs('username', 'password');
      break;
    case 'kubernetes.io/ssh-auth':
      if (!data['ssh-privatekey']) out.push(required('data[ssh-privatekey]'));
      break;
    case TLS_SECRET:
      needs('tls.crt', 'tls.key');
      break;
    default:
  }
}

function validateJson(out: FieldError[], key: string, value: string | undefined): void {
  if (value === undefined) return;
  const problem = goJsonProblem(Buffer.from(value, 'base64').toString('utf8'), 'map[string]interface {}');
  if (problem !== undefined) out.push(invalid(`data[${key}]`, '<secret contents redacted>', problem));
}

const IMMUTABLE_SET = 'field is immutable when `immutable` is set';

export function validateSecretUpdate(secret: Readonly<Secret>, old: Readonly<Secret>): readonly FieldError[] {
  const out: FieldError[] = [];
  validateObjectMetaUpdate(out, secret.metadata, old.metadata);
  if (secret.type !== old.type) out.push(invalid('type', secret.type ?? '', IMMUTABLE_TEXT));
  if (old.immutable === true) {
    if (secret.immutable !== true) out.push(forbidden('immutable', IMMUTABLE_SET));
    if (!semanticEqual(secret.data, old.data)) out.push(forbidden('data', IMMUTABLE_SET));
  }
  validateSecret(out, secret);
  return out;
}

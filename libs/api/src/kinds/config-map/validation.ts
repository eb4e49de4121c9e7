import { type FieldError, forbidden, invalid, semanticEqual, tooLong } from '@holdfast/machinery';
import type { ConfigMap } from '../../generated/types.ts';
import { base64Length, byteLength, configMapKeyErrors, dnsSubdomainErrors } from '../../validation/formats.ts';
import { CONFIG_DATA_BYTES_MAX } from '../../validation/limits.ts';
import { validateObjectMeta, validateObjectMetaUpdate } from '../../validation/object-meta.ts';

const META = { namespaced: true, name: dnsSubdomainErrors } as const;

export function validateConfigMapCreate(map: Readonly<ConfigMap>): readonly FieldError[] {
  const out: FieldError[] = [];
  validateConfigMap(out, map);
  return out;
}

function validateConfigMap(out: FieldError[], map: Readonly<ConfigMap>): void {
  validateObjectMeta(out, map.metadata, META);
  const { data = {}, binaryData = {} } = map;
  let total = 0;
  for (const key in data) {
    for (const text of configMapKeyErrors(key)) out.push(invalid(`data[${key}]`, key, text));
    if (Object.hasOwn(binaryData, key)) {
      out.push(invalid(`data[${key}]`, key, 'duplicate of key present in binaryData'));
    }
    total += byteLength(data[key] ?? '');
  }
  for (const key in binaryData) {
    for (const text of configMapKeyErrors(key)) out.push(invalid(`binaryData[${key}]`, key, text));
    total += base64Length(binaryData[key] ?? '');
  }
  if (total > CONFIG_DATA_BYTES_MAX) out.push(tooLong('[]', CONFIG_DATA_BYTES_MAX));
}

export function validateConfigMapUpdate(map: Readonly<ConfigMap>, old: Readonly<ConfigMap>): readonly FieldError[] {
  const out: FieldError[] = [];
  validateObjectMetaUpdate(out, map.metadata, old.metadata);
  if (old.immutable === true) {
    if (map.immutable !== true) out.push(forbidden('immutable', IMMUTABLE_SET));
    if (!semanticEqual(map.data, old.data)) out.push(forbidden('data', IMMUTABLE_SET));
    if (!semanticEqual(map.binaryData, old.binaryData)) out.push(forbidden('binaryData', IMMUTABLE_SET));
  }
  validateConfigMap(out, map);
  return out;
}

const IMMUTABLE_SET = 'field is immutable when `immutable` is set';

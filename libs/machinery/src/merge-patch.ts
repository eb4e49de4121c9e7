import { isJsonObject, type Json, type JsonObject, jsonTypeName, type MutableJsonObject, setOwn } from './json.ts';
import { badRequest } from './status.ts';

/** Decodes the body of a merge or strategic merge patch. Throws StatusError 400. */
export function decodeMergePatch(body: Json): JsonObject {
  if (body === null) return {};
  if (isJsonObject(body)) return body;
  const type = jsonTypeName(body);
  throw badRequest(
    `error decoding patch: json: cannot unmarshal ${type} into Go value of type map[string]interface {}`,
  );
}

/** RFC 7396. The result shares unchanged branches with its inputs. */
export function applyMergePatch(doc: Json, patch: Json): Json {
  if (!isJsonObject(patch)) return patch;
  const result: MutableJsonObject = isJsonObject(doc) ? { ...doc } : {};
  for (const key in patch) {
    const value = patch[key] ?? null;
    if (value === null) delete result[key];
    else setOwn(result, key, applyMergePatch(ownOrNull(result, key), value));
  }
  return result;
}

function ownOrNull(object: JsonObject, key: string): Json {
  return Object.hasOwn(object, key) ? (object[key] ?? null) : null;
}

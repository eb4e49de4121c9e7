import {
  applyJsonPatch,
  decodeJsonPatch,
  hasInfinite,
  isJsonObject,
  type Json,
  type JsonObject,
  ownValue,
  parseExactJson,
  StatusError,
} from '@holdfast/machinery';
import { isTooDeep } from '../../http/body.ts';
import { BODY_DEPTH_MAX, WEBHOOK_MESSAGE_CHARS_MAX, WEBHOOK_REASON_CHARS_MAX } from '../../limits.ts';
import { cutText } from '../../service-calls/cut-text.ts';
import type { Attributes } from './attributes.ts';
import { requestJson } from './request-values.ts';

/** The body for a webhook. */
export function reviewBody(attributes: Attributes, uid: string, version: string): string {
  const { object, oldObject } = attributes;
  return JSON.stringify({
    kind: 'AdmissionReview',
    apiVersion: `admission.k8s.io/${version}`,
    request: { uid, ...requestJson(attributes), object, oldObject },
  });
}

export interface ReviewAnswer {
  readonly allowed: boolean;
  readonly patch: Json | undefined;
  readonly warnings: readonly string[];
  readonly auditAnnotations: JsonObject;
  /** Why it is refused. */
  readonly status: JsonObject;
}

/** The response is invalid. */
export class InvalidAnswer extends Error {
  override readonly name = 'InvalidAnswer';
}

/** Reads the answer of a webhook. Throws InvalidAnswer with what is wrong with it. */
export function readAnswer(text: string, uid: string, version: string, mutating: boolean): ReviewAnswer {
  const review = parse(text);
  const wanted = `admission.k8s.io/${version}, Kind=AdmissionReview`;
  const kind = textOf(review, 'kind');
  const apiVersion = textOf(review, 'apiVersion');
  if (kind !== 'AdmissionReview' || apiVersion !== `admission.k8s.io/${version}`) {
    throw new InvalidAnswer(`expected webhook response of ${wanted}, got ${apiVersion}, Kind=${kind}`);
  }
  const response = ownValue(review, 'response');
  if (!isJsonObject(response)) throw new InvalidAnswer('webhook response was absent');
  const answered = textOf(response, 'uid');
  if (answered !== uid)
    throw new InvalidAnswer(`expected response.uid=${JSON.stringify(uid)}, got ${JSON.stringify(answered)}`);
  const allowed = ownValue(response, 'allowed');
  if (typeof allowed !== 'boolean' && allowed !== undefined)
    throw new InvalidAnswer('response.allowed is not a boolean');
  return {
    allowed: allowed === true,
    patch: mutating ? patchOf(response) : undefined,
    warnings: textsOf(response, 'warnings'),
    auditAnnotations: objectOf(response, 'auditAnnotations'),
    status: objectOf(response, 'status'),
  };
}

function parse(text: string): JsonObject {
  let value: Json;
  try {
    value = parseExactJson(text);
  } catch (error) {
    throw new InvalidAnswer(`the answer is not valid JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (!isJsonObject(value)) throw new InvalidAnswer('the answer is not a JSON object');
  refuseUnfitAnswer(value);
  return value;
}

/** JSON cannot write Infinity. Parts of an answer are copied, stored and passed on, all of which ends the stack when they are nested deeply enough. */
function refuseUnfitAnswer(value: Json): void {
  if (hasInfinite(value)) throw new InvalidAnswer('the answer has a number that no float64 can hold');
  if (isTooDeep(value)) throw new InvalidAnswer(`the answer is nested more than ${BODY_DEPTH_MAX} levels deep`);
}

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

function patchOf(response: JsonObject): Json | undefined {
  const patch = textOf(response, 'patch');
  const type = textOf(response, 'patchType');
  if (patch === '' && type === '') return undefined;
  if (patch === '') throw new InvalidAnswer('webhook returned response.patchType but not response.patch');
  if (type === '') throw new InvalidAnswer('webhook returned response.patch but not response.patchType');
  if (type !== 'JSONPatch')
    throw new InvalidAnswer(`webhook returned invalid response.patchType of ${JSON.stringify(type)}`);
  const value = decodedPatch(patch);
  if (value === undefined) throw new InvalidAnswer('response.patch is not base64 of a JSON patch');
  refuseUnfitAnswer(value);
  return value;
}

function decodedPatch(patch: string): Json | undefined {
  if (!BASE64.test(patch)) return undefined;
  try {
    return parseExactJson(Buffer.from(patch, 'base64').toString('utf8'));
  } catch {
    return undefined;
  }
}

function textOf(object: JsonObject, key: string): string {
  const value = ownValue(object, key);
  return typeof value === 'string' ? value : '';
}

function textsOf(object: JsonObject, key: string): readonly string[] {
  const value = ownValue(object, key);
  return Array.isArray(value) ? value.filter((each): each is string => typeof each === 'string') : [];
}

function objectOf(object: JsonObject, key: string): JsonObject {
  const value = ownValue(object, key);
  return isJsonObject(value) ? value : {};
}

/** The object after the patch of a webhook. */
export function patched(object: JsonObject, patch: Json): JsonObject {
  const result = applyJsonPatch(object, decodeJsonPatch(patch).operations);
  if (!isJsonObject(result)) throw new InvalidAnswer('the patch leaves no object');
  return result;
}

const REFUSED_MIN = 400;

/** The refusal of a webhook, with its own status where it gives one. */
export function denial(name: string, status: JsonObject): StatusError {
  const code = ownValue(status, 'code');
  const reason = cutText(textOf(status, 'reason'), WEBHOOK_REASON_CHARS_MAX);
  const message = cutText(textOf(status, 'message'), WEBHOOK_MESSAGE_CHARS_MAX) || reason;
  const denied = `admission webhook ${JSON.stringify(name)} denied the request`;
  return new StatusError({
    code: typeof code === 'number' && Number.isInteger(code) && code >= REFUSED_MIN && code < 600 ? code : REFUSED_MIN,
    ...(reason === '' ? {} : { reason: reason as never }),
    message: message === '' ? `${denied} without explanation` : `${denied}: ${message}`,
    ...detailsOf(status),
  });
}

function detailsOf(status: JsonObject): { readonly details?: never } {
  const details = ownValue(status, 'details');
  const isTold = isJsonObject(details) && JSON.stringify(details).length <= WEBHOOK_MESSAGE_CHARS_MAX;
  return isTold ? { details: details as never } : {};
}

export function callFailed(name: string, why: string): StatusError {
  const failed = `failed calling webhook ${JSON.stringify(name)}: ${why}`;
  return new StatusError({
    code: 500,
    reason: 'InternalError',
    message: `Internal error occurred: ${failed}`,
    details: { causes: [{ message: failed }] },
  });
}

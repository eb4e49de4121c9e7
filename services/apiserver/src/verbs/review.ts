import { type KubeObject, schemaFor } from '@holdfast/api';
import type { ApiResponse } from '@holdfast/client';
import {
  badRequest,
  DecodeError,
  decodeWithSchema,
  isJsonObject,
  type JsonObject,
  type StatusError,
  trackUpdate,
} from '@holdfast/machinery';
import { formatTime, invariant } from '@holdfast/platform';
import type { Core } from '../core.ts';
import { asKind, bodyFormat, bodyText, parseDocument } from '../http/body.ts';
import type { ResourceContext } from '../http/context.ts';
import { valueAnswer } from '../http/object-answer.ts';
import { groupVersion } from '../objects/object-keys.ts';
import { asJson, reportStrict } from './decode-body.ts';
import { readWriteOptions } from './write-options.ts';

export interface ReviewKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** The posted document, decoded by the field table of its kind; `others` are versions of it with the same fields. */
export function readReview(
  context: ResourceContext,
  of: ReviewKind,
  others: readonly string[] = [],
): KubeObject & { readonly spec?: unknown } {
  const schema = schemaFor(of.group, of.version, of.kind);
  invariant(schema !== undefined, 'every review has a field table', { kind: of.kind });
  const text = bodyText(context.request);
  const { value, duplicates } = parseDocument(text, bodyFormat(context.request), of.kind);
  const sent = withoutOwners(value);
  const refused = (why: string): StatusError =>
    badRequest(`${of.kind} in version "${of.version}" cannot be handled as a ${of.kind}: ${why}`);
  const isOther = others.some((each) => each === sent['apiVersion']);
  const document = isOther ? { ...sent, apiVersion: groupVersion(of) } : sent;
  try {
    const { value: decoded, unknownFields } = decodeWithSchema(asJson(asKind(document, of)), schema);
    const options = readWriteOptions(context, 'CreateOptions');
    reportStrict(context, options, [...duplicates, ...unknownFields], (why) =>
      refused(`strict decoding error: ${why}`),
    );
    return asKind(decoded, of);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw refused(error.message);
  }
}

/** A review is not stored, so its managedFields are ignored. */
function withoutOwners(document: JsonObject): JsonObject {
  const { metadata } = document;
  if (!isJsonObject(metadata) || !Object.hasOwn(metadata, 'managedFields')) return document;
  const { managedFields: _, ...rest } = metadata;
  return { ...document, metadata: rest };
}

export interface ReviewAnswer {
  readonly status: JsonObject;
  /** Absent: the review carries none, as it was never stored. */
  readonly created?: string;
  readonly subresource?: string;
  /** The document of the response, when it has more than the posted one. */
  readonly answered?: JsonObject;
}

/** The review with its answer, as Kubernetes returns it: with the writer's field ownership although nothing is stored. */
export function reviewAnswer(
  core: Core,
  context: ResourceContext,
  review: KubeObject,
  answer: ReviewAnswer,
): ApiResponse {
  const [group = '', version = ''] = review.apiVersion.split('/');
  const schema = schemaFor(group, version, review.kind);
  invariant(schema !== undefined, 'every review has a field table', { kind: review.kind });
  const tracked = trackUpdate({
    manager: readWriteOptions(context, 'CreateOptions').fieldManager,
    apiVersion: groupVersion({ group, version }),
    subresource: answer.subresource ?? '',
    time: formatTime(core.clock.now()),
    live: undefined,
    updated: asJson(review),
    schema,
  });
  const { managedFields } = metadataOf(tracked);
  const answered = answer.answered ?? asJson(review);
  const metadata = { ...metadataOf(answered), ...(managedFields === undefined ? {} : { managedFields }) };
  return valueAnswer(context, 201, {
    ...answered,
    metadata: { ...metadata, creationTimestamp: answer.created ?? null },
    status: answer.status,
  });
}

const metadataOf = (document: JsonObject): JsonObject => {
  const metadata = document['metadata'];
  return isJsonObject(metadata) ? metadata : {};
};

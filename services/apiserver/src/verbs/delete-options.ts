import type { DeleteOptions } from '@holdfast/api';
import { badRequest, isJsonObject, type JsonObject } from '@holdfast/machinery';
import { bodyFormat, bodyText, parseDocument } from '../http/body.ts';
import type { ResourceContext } from '../http/context.ts';
import { invalidOptions } from '../http/options-error.ts';
import { readDryRun } from './write-options.ts';

/** From the body; without one, from the query. */
export function readDeleteOptions(context: ResourceContext): {
  readonly options: DeleteOptions;
  readonly dryRun: boolean;
} {
  const text = bodyText(context.request);
  const options =
    text.trim() === ''
      ? optionsFromQuery(context.request.query)
      : decodeOptions(parseDocument(text, bodyFormat(context.request), 'DeleteOptions').value);
  checkOptions(options);
  const dryRun = readDryRun([...(options.dryRun ?? []), ...context.request.query.getAll('dryRun')], 'DeleteOptions');
  return { options, dryRun };
}

function optionsFromQuery(query: URLSearchParams): DeleteOptions {
  const grace = query.get('gracePeriodSeconds');
  const orphan = query.get('orphanDependents');
  const policy = query.get('propagationPolicy');
  return {
    ...(grace === null ? {} : { gracePeriodSeconds: readSeconds(grace) }),
    ...(orphan === null ? {} : { orphanDependents: orphan === 'true' || orphan === '1' }),
    ...(policy === null || policy === '' ? {} : { propagationPolicy: policy }),
  };
}

function readSeconds(text: string): number {
  if (/^-?\d{1,15}$/.test(text)) return Number(text);
  throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`);
}

function decodeOptions(document: JsonObject): DeleteOptions {
  const { gracePeriodSeconds, orphanDependents, propagationPolicy, preconditions, dryRun } = document;
  return {
    ...(gracePeriodSeconds == null ? {} : { gracePeriodSeconds: expectNumber(gracePeriodSeconds) }),
    ...(orphanDependents == null ? {} : { orphanDependents: orphanDependents === true }),
    ...(propagationPolicy == null ? {} : { propagationPolicy: expectText('propagationPolicy', propagationPolicy) }),
    ...(Array.isArray(dryRun) ? { dryRun: dryRun.map(String) } : {}),
    ...(isJsonObject(preconditions) ? { preconditions: decodePreconditions(preconditions) } : {}),
  };
}

function decodePreconditions(value: JsonObject): NonNullable<DeleteOptions['preconditions']> {
  const { uid, resourceVersion } = value;
  return {
    ...(uid == null ? {} : { uid: expectText('preconditions.uid', uid) }),
    ...(resourceVersion == null
      ? {}
      : { resourceVersion: expectText('preconditions.resourceVersion', resourceVersion) }),
  };
}

function expectNumber(value: unknown): number {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return value;
  throw badRequest(
    'DeleteOptions in version "v1" cannot be handled as a DeleteOptions: gracePeriodSeconds must be an integer',
  );
}

function expectText(field: string, value: unknown): string {
  if (typeof value === 'string') return value;
  throw badRequest(`DeleteOptions in version "v1" cannot be handled as a DeleteOptions: ${field} must be a string`);
}

function checkOptions(options: DeleteOptions): void {
  const { propagationPolicy, orphanDependents } = options;
  if (propagationPolicy !== undefined && orphanDependents !== undefined) {
    throw invalidOptions(
      'DeleteOptions',
      'propagationPolicy',
      'Invalid value',
      `${JSON.stringify(propagationPolicy)}: orphanDependents and deletionPropagation cannot be both set`,
    );
  }
  if (propagationPolicy === undefined || ['Foreground', 'Background', 'Orphan', ''].includes(propagationPolicy)) return;
  throw invalidOptions(
    'DeleteOptions',
    'propagationPolicy',
    'Unsupported value',
    `${JSON.stringify(propagationPolicy)}: supported values: "Foreground", "Background", "Orphan", "nil"`,
  );
}

import { type DeleteOptions, schemaFor } from '@holdfast/api';
import {
  DecodeError,
  decodeWithSchema,
  invalid,
  type JsonObject,
  notSupported,
  unclassifiedError,
} from '@holdfast/machinery';
import { invariant } from '@holdfast/platform';
import { bodyFormat, bodyText, parseRefusing } from '../http/body.ts';
import type { ResourceContext } from '../http/context.ts';
import { readInt64 } from '../http/query-values.ts';
import { isTrue } from '../http/request-info.ts';
import { dryRunErrors, refuseWrong } from './write-options.ts';

/** From the body; without one, from the query. */
export function readDeleteOptions(context: ResourceContext): {
  readonly options: DeleteOptions;
  readonly dryRun: boolean;
} {
  const text = bodyText(context.request);
  const options = text === '' ? optionsFromQuery(context.request.query) : decodeOptions(context, text);
  checkOptions(options);
  return { options, dryRun: (options.dryRun ?? []).length > 0 };
}

function optionsFromQuery(query: URLSearchParams): DeleteOptions {
  const grace = query.get('gracePeriodSeconds');
  const orphan = query.get('orphanDependents');
  const policy = query.get('propagationPolicy');
  const dryRun = query.getAll('dryRun');
  return {
    ...(grace === null ? {} : { gracePeriodSeconds: readInt64(grace) }),
    ...(orphan === null ? {} : { orphanDependents: isTrue(orphan) }),
    ...(policy === null ? {} : { propagationPolicy: policy }),
    ...(dryRun.length === 0 ? {} : { dryRun }),
  };
}

const KIND = 'DeleteOptions';
const SCHEME = 'k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27';

/** The decoder's error has no wrapper, so it has no status of its own. */
function decodeOptions({ request }: ResourceContext, text: string): DeleteOptions {
  const { value } = parseRefusing(text, bodyFormat(request), unclassifiedError);
  const { kind = KIND, apiVersion = 'v1' } = value;
  if (kind !== KIND && kind !== '') {
    throw unclassifiedError(
      `no kind ${JSON.stringify(kind)} is registered for version ${JSON.stringify(apiVersion)} in scheme "${SCHEME}"`,
    );
  }
  const schema = schemaFor('meta', 'v1', KIND);
  invariant(schema !== undefined, 'there is a field table for DeleteOptions');
  try {
    return asOptions(decodeWithSchema(value, schema).value);
  } catch (error) {
    if (error instanceof DecodeError) throw unclassifiedError(error.message, error);
    throw error;
  }
}

/** Its fields were checked. */
const asOptions = (decoded: JsonObject): DeleteOptions => decoded as DeleteOptions;

const POLICIES = ['Foreground', 'Background', 'Orphan'];
const POLICY = 'propagationPolicy';

/** Reports all errors together. */
export function checkOptions({ propagationPolicy: policy, orphanDependents, dryRun = [] }: DeleteOptions): void {
  refuseWrong(KIND, [
    ...(policy !== undefined && orphanDependents !== undefined
      ? [invalid(POLICY, policy, 'orphanDependents and deletionPropagation cannot be both set')]
      : []),
    ...(policy === undefined || POLICIES.includes(policy) ? [] : [notSupported(POLICY, policy, [...POLICIES, 'nil'])]),
    ...dryRunErrors(dryRun),
  ]);
}

import { forbiddenError, StatusError } from '@holdfast/machinery';
import { cel } from '../../expressions/load.ts';
import { type Attributes, attributesOf, isAdmissionConfiguration, jsonOf } from '../dynamic/attributes.ts';
import {
  type BoundPolicy,
  type CompiledBinding,
  type CompiledPolicy,
  PolicySource,
} from '../dynamic/compiled-policies.ts';
import { DYN } from '../dynamic/expressions.ts';
import { type Objection, objectionsOf } from '../dynamic/policy-decision.ts';
import { paramsOf } from '../dynamic/policy-params.ts';
import { RequestValues } from '../dynamic/request-values.ts';
import type { AdmissionDeps, AdmissionPlugin } from '../port.ts';

type Warn = (text: string) => void;

const CODES: ReadonlyMap<string, number> = new Map([
  ['Forbidden', 403],
  ['Unauthorized', 401],
  ['RequestEntityTooLarge', 413],
  ['Invalid', 422],
]);

/** Judges requests by policies that are bound. */
export function createValidatingPolicies(deps: AdmissionDeps): AdmissionPlugin {
  const source = new PolicySource(deps);
  const judge = (attributes: Attributes, warn: Warn): Promise<void> =>
    judgeAll(source.all(), attributes, { deps, warn });
  return {
    name: 'ValidatingAdmissionPolicy',
    handles: ({ definition }) => !source.isEmpty && !isAdmissionConfiguration(definition),
    validate: (request) => judge(attributesOf(request), request.warn),
    connect: (attributes, warn) => (source.isEmpty ? undefined : judge(attributes, warn)),
  };
}

interface Judging {
  readonly deps: AdmissionDeps;
  readonly warn: Warn;
}

/** The first objection that denies is the answer; warnings of all others are given. */
async function judgeAll(policies: readonly BoundPolicy[], attributes: Attributes, judging: Judging): Promise<void> {
  const values = new RequestValues(attributes, judging.deps);
  let denied: StatusError | undefined;
  for (const { policy, bindings } of policies) {
    if (!policy.matcher.matches(attributes) || !(await policy.matcher.matchesNamespace(attributes))) continue;
    for (const binding of bindings) {
      const objections = await objectionsTo({ policy, binding }, attributes, { ...judging, values });
      denied ??= enforce({ policy, binding }, objections, attributes, judging.warn);
    }
  }
  if (denied !== undefined) throw denied;
}

interface Bound {
  readonly policy: CompiledPolicy;
  readonly binding: CompiledBinding;
}

async function objectionsTo(
  { policy, binding }: Bound,
  attributes: Attributes,
  { deps, values }: Judging & { readonly values: RequestValues },
): Promise<readonly Objection[]> {
  if (!binding.matcher.matches(attributes) || !(await binding.matcher.matchesNamespace(attributes))) return [];
  const { failurePolicy, paramKind } = policy.policy.spec;
  const failed = (message: string): readonly Objection[] =>
    failurePolicy === 'Ignore' ? [] : [{ message, reason: 'Invalid' }];
  const conditions = policy.conditions.isEmpty ? 'match' : await policy.conditions.evaluate(values);
  if (conditions === 'noMatch') return [];
  if (conditions !== 'match') return failed(conditions.failed);
  if (paramKind === undefined) return values.run(() => objectionsOf(policy, values.get, undefined));
  const ref = binding.binding.spec?.paramRef;
  const params = await paramsOf({ kind: paramKind, ref, namespace: attributes.namespace }, deps);
  if (params === null) return [];
  if (typeof params === 'string') return failed(params);
  const all = await Promise.all(
    params.map((each) => values.run(() => objectionsOf(policy, values.get, cel().fromJson(jsonOf(each), DYN)))),
  );
  return all.flat();
}

/** Gives the warnings that the binding wants. Returns the refusal, when it wants one. */
function enforce(
  { policy, binding }: Bound,
  objections: readonly Objection[],
  attributes: Attributes,
  warn: Warn,
): StatusError | undefined {
  const actions = binding.binding.spec?.validationActions ?? [];
  const names = `ValidatingAdmissionPolicy '${policy.policy.metadata.name}' with binding '${binding.binding.metadata.name}'`;
  const [first] = objections;
  if (actions.includes('Warn')) {
    for (const { message } of objections) warn(`Validation failed for ${names}: ${message}`);
  }
  return first === undefined || !actions.includes('Deny') ? undefined : refusal(names, first, attributes);
}

function refusal(names: string, { message, reason }: Objection, { definition, name }: Attributes): StatusError {
  const why = `${names} denied request: ${message}`;
  const { body } = forbiddenError({ group: definition.group, resource: definition.plural, name }, why);
  return new StatusError({
    code: CODES.get(reason) ?? 422,
    reason: reason as never,
    message: body.message ?? why,
    details: { ...body.details, causes: [{ message: why } as never] },
  });
}

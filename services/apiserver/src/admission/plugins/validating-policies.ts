import type { CelValue } from '@holdfast/cel';
import { forbiddenError, StatusError } from '@holdfast/machinery';
import type { Remarks } from '../../audit/notes.ts';
import { cel } from '../../expressions/load.ts';
import { type Attributes, attributesOf, isShown, jsonOf } from '../dynamic/attributes.ts';
import {
  type BoundPolicy,
  type CompiledBinding,
  type CompiledPolicy,
  PolicySource,
} from '../dynamic/compiled-policies.ts';
import { DYN } from '../dynamic/expressions.ts';
import { NO_VERDICT, type Objection, type PolicyVerdict, verdictOf } from '../dynamic/policy-decision.ts';
import { paramsOf } from '../dynamic/policy-params.ts';
import type { RequestValues } from '../dynamic/request-values.ts';
import { type View, Views } from '../dynamic/views.ts';
import type { PolicyAction, PolicyFault } from '../metrics.ts';
import type { AdmissionDeps, AdmissionPlugin } from '../port.ts';

const CODES: ReadonlyMap<string, number> = new Map([
  ['Forbidden', 403],
  ['Unauthorized', 401],
  ['RequestEntityTooLarge', 413],
  ['Invalid', 422],
]);

/** Judges requests by policies that are bound. */
export function createValidatingPolicies(deps: AdmissionDeps): AdmissionPlugin {
  const source = new PolicySource(deps);
  return {
    name: 'ValidatingAdmissionPolicy',
    handles: (request) => !source.isEmpty && isShown(request),
    validate: (request) => judgeAll(source.all(), attributesOf(request), { deps, remarks: request }),
    review: (attributes, remarks) =>
      source.isEmpty ? undefined : judgeAll(source.all(), attributes, { deps, remarks }),
  };
}

interface Judging {
  readonly deps: AdmissionDeps;
  readonly remarks: Remarks;
}

/** The first objection that denies is the answer; warnings and audit annotations of all others are given. */
async function judgeAll(policies: readonly BoundPolicy[], attributes: Attributes, judging: Judging): Promise<void> {
  const views = new Views(attributes, judging.deps);
  const annotations = new Map<string, Set<string>>();
  const failures: ValidationFailure[] = [];
  let denied: StatusError | undefined;
  for (const { policy, bindings } of policies) {
    if (!policy.matcher.matches(attributes) || !(await policy.matcher.matchesNamespace(attributes))) continue;
    for (const binding of bindings) {
      const enforcement = new Enforcement({ policy, binding }, attributes, judging);
      const verdict = await enforcement.judge(views);
      denied ??= enforcement.enforce(verdict, failures);
      gather(annotations, policy, verdict);
    }
  }
  tell(judging.remarks, annotations, failures);
  if (denied !== undefined) throw denied;
}

interface Bound {
  readonly policy: CompiledPolicy;
  readonly binding: CompiledBinding;
}

/** One entry of the annotation `validation.policy.admission.k8s.io/validation_failure`. */
interface ValidationFailure {
  readonly message: string;
  readonly policy: string;
  readonly binding: string;
  readonly expressionIndex: number;
  readonly validationActions: readonly string[];
}

function gather(into: Map<string, Set<string>>, { policy }: CompiledPolicy, { annotations }: PolicyVerdict): void {
  for (const { key, value } of annotations) {
    const name = `${policy.metadata.name}/${key}`;
    const values = into.get(name) ?? new Set();
    into.set(name, values.add(value));
  }
}

function tell(
  { audit }: Remarks,
  annotations: ReadonlyMap<string, ReadonlySet<string>>,
  failures: readonly ValidationFailure[],
): void {
  if (audit === undefined) return;
  for (const [key, values] of annotations) audit.annotate(key, [...values].join(', '));
  if (failures.length === 0) return;
  audit.annotate('validation.policy.admission.k8s.io/validation_failure', JSON.stringify(failures));
}

/** A policy by one of its bindings, on one request. */
class Enforcement {
  readonly #bound: Bound;
  readonly #attributes: Attributes;
  readonly #judging: Judging;
  readonly #began: number;

  constructor(bound: Bound, attributes: Attributes, judging: Judging) {
    this.#bound = bound;
    this.#attributes = attributes;
    this.#judging = judging;
    this.#began = judging.deps.clock.monotonic();
  }

  async judge(views: Views): Promise<PolicyVerdict> {
    const { binding } = this.#bound;
    const attributes = this.#attributes;
    if (!binding.matcher.matches(attributes) || !(await binding.matcher.matchesNamespace(attributes)))
      return NO_VERDICT;
    const view = await this.#view(views);
    return typeof view === 'string' ? this.#failed(view) : this.#verdict(view.values);
  }

  /** The request in the version that the rules of the policy name; a string explains why it cannot be converted. */
  async #view(views: Views): Promise<View | string> {
    try {
      return await views.in(this.#bound.policy.matcher.equivalent(this.#attributes));
    } catch (error) {
      if (error instanceof StatusError) return `failed to convert object version: ${error.body.message}`;
      throw error;
    }
  }

  async #verdict(values: RequestValues): Promise<PolicyVerdict> {
    const { policy, binding } = this.#bound;
    const attributes = this.#attributes;
    const { paramKind } = policy.policy.spec;
    const conditions = policy.conditions.isEmpty ? 'match' : await policy.conditions.evaluate(values);
    if (conditions === 'noMatch') return NO_VERDICT;
    if (conditions !== 'match') return this.#failed(conditions.failed);
    const time = values.time();
    const judge = (params?: CelValue): Promise<PolicyVerdict> =>
      values.run((left) => verdictOf(policy, { values: values.get, params, time: left }), time);
    if (paramKind === undefined) return this.#checked(await judge());
    const ref = binding.binding.spec?.paramRef;
    const params = await paramsOf({ kind: paramKind, ref, namespace: attributes.namespace }, this.#judging.deps);
    if (params === null) return NO_VERDICT;
    if (typeof params === 'string') return this.#failed(params);
    const all = await Promise.all(params.map((each) => judge(cel().fromJson(jsonOf(each), DYN))));
    return this.#checked({
      objections: all.flatMap(({ objections }) => objections),
      leftOut: all.flatMap(({ leftOut }) => leftOut),
      annotationFaults: all.flatMap(({ annotationFaults }) => annotationFaults),
      annotations: all.flatMap(({ annotations }) => annotations),
    });
  }

  /** Gives the warnings and audit entries that the binding wants. Returns the refusal, when it wants one. */
  enforce({ objections, annotationFaults }: PolicyVerdict, failures: ValidationFailure[]): StatusError | undefined {
    const { policy, binding } = this.#bound;
    const { validationActions = [] } = binding.binding.spec ?? {};
    const names = `ValidatingAdmissionPolicy '${policy.policy.metadata.name}' with binding '${binding.binding.metadata.name}'`;
    const denies = validationActions.includes('Deny');
    for (const objection of objections) {
      if (denies) this.#count('deny', objection.fault);
      if (validationActions.includes('Audit')) failures.push(this.#failure(objection, validationActions));
      if (validationActions.includes('Warn'))
        this.#warn(`Validation failed for ${names}: ${objection.message}`, objection);
    }
    const denying = [...(denies ? objections : []), ...annotationFaults];
    const [first] = denying;
    return first === undefined ? undefined : refusal(names, first, this.#attributes);
  }

  #failure({ message, index, fault }: Objection, validationActions: readonly string[]): ValidationFailure {
    const { policy, binding } = this.#bound;
    this.#count('audit', fault);
    return {
      message,
      policy: policy.policy.metadata.name ?? '',
      binding: binding.binding.metadata.name ?? '',
      expressionIndex: index,
      validationActions,
    };
  }

  #warn(text: string, { fault }: Objection): void {
    this.#count('warn', fault);
    this.#judging.remarks.warn(text);
  }

  /** A failed evaluation that is ignored counts as allowed, as in Kubernetes. */
  #checked(verdict: PolicyVerdict): PolicyVerdict {
    for (const { fault } of verdict.leftOut) this.#count('allow', fault);
    for (const { fault } of verdict.annotationFaults) this.#count('deny', fault);
    return verdict;
  }

  #failed(message: string): PolicyVerdict {
    const fault = 'invalid_error';
    if (this.#bound.policy.policy.spec.failurePolicy === 'Ignore') {
      return this.#checked({ ...NO_VERDICT, leftOut: [{ fault }] });
    }
    return { ...NO_VERDICT, objections: [{ message, reason: 'Invalid', index: 0, fault }] };
  }

  #count(action: PolicyAction, fault: PolicyFault): void {
    const { policy, binding } = this.#bound;
    const { clock, metrics } = this.#judging.deps;
    metrics.policyChecked({
      policy: policy.policy.metadata.name ?? '',
      binding: binding.binding.metadata.name ?? '',
      action,
      fault,
      seconds: (clock.monotonic() - this.#began) / 1000,
    });
  }
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

import {
  VALIDATING_ADMISSION_POLICIES,
  VALIDATING_ADMISSION_POLICY_BINDINGS,
  type ValidatingAdmissionPolicy,
  type ValidatingAdmissionPolicyBinding,
  type Validation,
} from '@holdfast/api';
import type { Environment } from '@holdfast/cel';
import { type Parts, whole } from '../../turns/parts.ts';
import { MatchConditions } from './conditions.ts';
import { type CompiledText, compileText, DYN, type KnownTypes, policyEnvironment } from './expressions.ts';
import { createMatcher, type Matcher, type MatchingDeps, type Scope } from './matching.ts';

export interface CompiledValidation {
  readonly source: Readonly<Validation>;
  readonly compiled: CompiledText;
  readonly message: CompiledText | undefined;
}

export interface CompiledVariable {
  readonly name: string;
  readonly compiled: CompiledText;
}

export interface CompiledAuditAnnotation {
  readonly key: string;
  readonly expression: string;
  readonly compiled: CompiledText;
}

export interface CompiledPolicy {
  readonly policy: Readonly<ValidatingAdmissionPolicy>;
  readonly matcher: Matcher;
  readonly conditions: MatchConditions;
  /** In the order of the policy: each sees the earlier ones. */
  readonly variables: readonly CompiledVariable[];
  readonly validations: readonly CompiledValidation[];
  readonly auditAnnotations: readonly CompiledAuditAnnotation[];
}

export interface CompiledBinding {
  readonly binding: Readonly<ValidatingAdmissionPolicyBinding>;
  readonly matcher: Matcher;
}

export interface BoundPolicy {
  readonly policy: CompiledPolicy;
  readonly bindings: readonly CompiledBinding[];
}

/** Policies with their bindings. Each object is compiled once. */
export class PolicySource {
  readonly #deps: MatchingDeps;
  readonly #policies = new WeakMap<object, CompiledPolicy>();
  readonly #bindings = new WeakMap<object, CompiledBinding>();

  constructor(deps: MatchingDeps) {
    this.#deps = deps;
  }

  get isEmpty(): boolean {
    return this.#deps.reader.list(VALIDATING_ADMISSION_POLICY_BINDINGS).length === 0;
  }

  all(): readonly BoundPolicy[] {
    const bindings = this.#deps.reader.list(VALIDATING_ADMISSION_POLICY_BINDINGS);
    const policies = this.#deps.reader.list(VALIDATING_ADMISSION_POLICIES);
    return policies.flatMap((policy) => {
      const bound = bindings.filter(({ spec }) => spec?.policyName === policy.metadata.name);
      if (bound.length === 0) return [];
      return [{ policy: this.#policy(policy), bindings: bound.map((each) => this.#binding(each)) }];
    });
  }

  #policy(policy: Readonly<ValidatingAdmissionPolicy>): CompiledPolicy {
    const known = this.#policies.get(policy);
    if (known !== undefined) return known;
    const compiled = compilePolicy(policy, this.#deps);
    this.#policies.set(policy, compiled);
    return compiled;
  }

  #binding(binding: Readonly<ValidatingAdmissionPolicyBinding>): CompiledBinding {
    const known = this.#bindings.get(binding);
    if (known !== undefined) return known;
    const matcher = createMatcher(scopeOf(binding.spec?.matchResources), this.#deps);
    const compiled = { binding, matcher };
    this.#bindings.set(binding, compiled);
    return compiled;
  }
}

type Resources = NonNullable<ValidatingAdmissionPolicyBinding['spec']>['matchResources'];

/** A binding without rules covers everything that its policy covers. */
function scopeOf(resources: Readonly<Resources> | undefined): Scope {
  if (resources === undefined) return {};
  const { resourceRules, excludeResourceRules, matchPolicy, namespaceSelector, objectSelector } = resources;
  return { rules: resourceRules, excludeRules: excludeResourceRules, matchPolicy, namespaceSelector, objectSelector };
}

function compilePolicy(policy: Readonly<ValidatingAdmissionPolicy>, deps: MatchingDeps): CompiledPolicy {
  const { matchConstraints, matchConditions = [], validations = [], auditAnnotations = [] } = policy.spec;
  const { variables, environment } = compileVariables(policy);
  const scope = scopeOf(matchConstraints);
  return {
    policy,
    matcher: createMatcher({ ...scope, rules: scope.rules ?? [] }, deps),
    conditions: new MatchConditions(matchConditions, () => environment),
    variables,
    validations: validations.map((source) => ({
      source,
      compiled: compileText(source.expression, environment, 'bool'),
      message: source.messageExpression ? compileText(source.messageExpression, environment, 'string') : undefined,
    })),
    auditAnnotations: auditAnnotations.map(({ key, valueExpression }) => ({
      key,
      expression: valueExpression,
      compiled: compileText(valueExpression, environment),
    })),
  };
}

/**
 * The cost is linear in the number of variables, because all share one environment. Two variables may have the same
 * name: the later one counts from its position on.
 */
export const compileVariables = (policy: Readonly<ValidatingAdmissionPolicy>, types?: KnownTypes): DeclaredVariables =>
  whole(variableParts(policy, types));

interface DeclaredVariables {
  readonly variables: readonly CompiledVariable[];
  readonly environment: Environment;
}

/** The same, variable by variable. */
export function* variableParts(
  { spec }: Readonly<ValidatingAdmissionPolicy>,
  types?: KnownTypes,
): Parts<DeclaredVariables> {
  const { environment, declare } = policyEnvironment({ params: spec.paramKind !== undefined, types });
  const variables: CompiledVariable[] = [];
  for (const { name, expression } of spec.variables ?? []) {
    yield;
    const compiled = compileText(expression, environment);
    variables.push({ name, compiled });
    declare(name, compiled.program?.type ?? DYN);
  }
  return { variables, environment };
}

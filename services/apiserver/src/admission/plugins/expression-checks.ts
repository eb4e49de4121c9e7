import type {
  KubeObject,
  MatchCondition,
  ValidatingAdmissionPolicy,
  ValidatingWebhookConfiguration,
} from '@holdfast/api';
import type { Environment } from '@holdfast/cel';
import { type FieldError, invalid, invalidObject } from '@holdfast/machinery';
import { isAdmissionConfiguration } from '../dynamic/attributes.ts';
import { compileVariables } from '../dynamic/compiled-policies.ts';
import { compileText, conditionEnvironment } from '../dynamic/expressions.ts';
import type { AdmissionPlugin, AdmissionRequest } from '../port.ts';

/** Refuses webhooks and policies whose expressions do not compile. What stood in the object before is left alone. */
export function createExpressionChecks(): AdmissionPlugin {
  return {
    name: 'AdmissionExpressions',
    handles: ({ definition, operation, subresource }) =>
      operation !== 'DELETE' && subresource === '' && isAdmissionConfiguration(definition),
    validate: (request) => {
      if (request.object === undefined) return;
      const errors = errorsOf(request, request.object);
      const { group, kind } = request.definition;
      if (errors.length > 0) throw invalidObject({ group, kind, name: request.object.metadata.name ?? '' }, errors);
    },
  };
}

function errorsOf({ definition, old }: AdmissionRequest, object: KubeObject): readonly FieldError[] {
  const checker = new Checker(textsIn(old));
  if (definition.plural === 'validatingadmissionpolicies') {
    checker.policy(object as unknown as ValidatingAdmissionPolicy);
  } else {
    const { webhooks = [] } = object as unknown as ValidatingWebhookConfiguration;
    for (const [index, { matchConditions = [] }] of webhooks.entries()) {
      checker.conditions(`webhooks[${index}].matchConditions`, matchConditions, conditionEnvironment);
    }
  }
  return checker.errors;
}

/** Every text in a value, however deep. */
function textsIn(value: unknown, texts: Set<string> = new Set()): ReadonlySet<string> {
  if (typeof value === 'string') texts.add(value);
  else if (typeof value === 'object' && value !== null) for (const part of Object.values(value)) textsIn(part, texts);
  return texts;
}

class Checker {
  readonly errors: FieldError[] = [];
  /** Texts of the object before the write. */
  readonly #before: ReadonlySet<string>;

  constructor(before: ReadonlySet<string>) {
    this.#before = before;
  }

  conditions(path: string, conditions: readonly MatchCondition[], environmentOf: () => Environment): void {
    if (conditions.length === 0) return;
    const environment = environmentOf();
    for (const [index, { expression }] of conditions.entries()) {
      this.#expression(`${path}[${index}].expression`, expression, environment, 'bool');
    }
  }

  policy(policy: ValidatingAdmissionPolicy): void {
    const { matchConditions = [], validations = [], variables = [], auditAnnotations = [] } = policy.spec;
    const { environment, variables: compiled } = compileVariables(policy);
    this.conditions('spec.matchConditions', matchConditions, () => environment);
    for (const [index, { expression }] of variables.entries()) {
      this.#report(`spec.variables[${index}].expression`, expression, compiled[index]?.compiled.problem);
    }
    for (const [index, { expression, messageExpression }] of validations.entries()) {
      this.#expression(`spec.validations[${index}].expression`, expression, environment, 'bool');
      this.#expression(`spec.validations[${index}].messageExpression`, messageExpression, environment, 'string');
    }
    for (const [index, { valueExpression }] of auditAnnotations.entries()) {
      this.#expression(`spec.auditAnnotations[${index}].valueExpression`, valueExpression, environment, undefined);
    }
  }

  #expression(
    path: string,
    text: string | undefined,
    ...[environment, wanted]: [Environment, 'bool' | 'string' | undefined]
  ): void {
    if (text === undefined || text.trim() === '' || this.#isKnown(text)) return;
    this.#report(path, text, compileText(text, environment, wanted).problem);
  }

  #report(path: string, text: string, problem: string | undefined): void {
    if (problem !== undefined && !this.#isKnown(text)) this.errors.push(invalid(path, text, problem));
  }

  #isKnown(text: string): boolean {
    return this.#before.has(text);
  }
}

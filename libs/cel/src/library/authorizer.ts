import { constantCost } from '../estimates.ts';
import { type Functions, FunctionTable, signature } from '../overload.ts';
import { BOOL, opaque, STRING } from '../types.ts';
import { OpaqueValue } from '../values.ts';

export const AUTHORIZER = opaque('kubernetes.authorization.Authorizer');
export const PATH_CHECK = opaque('kubernetes.authorization.PathCheck');
export const GROUP_CHECK = opaque('kubernetes.authorization.GroupCheck');
export const RESOURCE_CHECK = opaque('kubernetes.authorization.ResourceCheck');
export const DECISION = opaque('kubernetes.authorization.Decision');

/** A question to the authorizer. The user is that of the request, unless a service account is named. */
export interface AccessQuestion {
  readonly verb: string;
  readonly serviceAccount?: { readonly namespace: string; readonly name: string };
  readonly path?: string;
  readonly resource?: {
    readonly group: string;
    readonly resource: string;
    readonly subresource: string;
    readonly namespace: string;
    readonly name: string;
    readonly fieldSelector?: string;
    readonly labelSelector?: string;
  };
}

export interface AccessAnswer {
  readonly allowed: boolean;
  readonly reason: string;
  readonly error?: string;
}

/** Answers synchronously. A server that must look up the answer throws, looks it up, and evaluates again. */
export type Decide = (question: AccessQuestion) => AccessAnswer;

type Question = Omit<AccessQuestion, 'verb'>;

/** One class for all parts of a question: authorizer, path, group, resource. */
export class AccessValue extends OpaqueValue {
  readonly opaqueName: string;
  readonly question: Question;
  readonly decide: Decide;
  constructor(name: string, question: Question, decide: Decide) {
    super();
    this.opaqueName = name;
    this.question = question;
    this.decide = decide;
  }
  with(name: string, part: Question): AccessValue {
    return new AccessValue(name, { ...this.question, ...part }, this.decide);
  }
  withResource(part: Partial<NonNullable<Question['resource']>>): AccessValue {
    const base = { group: '', resource: '', subresource: '', namespace: '', name: '' };
    return this.with(RESOURCE_CHECK.name, { resource: { ...base, ...this.question.resource, ...part } });
  }
}

/** Returns the value of the variable `authorizer`. */
export function authorizerValue(decide: Decide): AccessValue {
  return new AccessValue(AUTHORIZER.name, {}, decide);
}

class DecisionValue extends OpaqueValue {
  readonly opaqueName = DECISION.name;
  readonly answer: AccessAnswer;
  constructor(answer: AccessAnswer) {
    super();
    this.answer = answer;
  }
}

const ONE = constantCost(1);
/** High, so that one expression can check only a few times. */
const CHECK = constantCost(350_000);
const access = (value: unknown): AccessValue => value as AccessValue;
const answer = (value: unknown): AccessAnswer => (value as DecisionValue).answer;
const ask = ([value, verb]: readonly unknown[]): DecisionValue => {
  const { question, decide } = access(value);
  return new DecisionValue(decide({ ...question, verb: verb as string }));
};

const RESOURCE_TEXT = signature([RESOURCE_CHECK, STRING], RESOURCE_CHECK);

export const AUTHORIZATION: Functions = new FunctionTable()
  .member(
    'path',
    'authorizer_path',
    signature([AUTHORIZER, STRING], PATH_CHECK),
    ([a, path]) => access(a).with(PATH_CHECK.name, { path: path as string }),
    ONE,
  )
  .member('check', 'pathcheck_check', signature([PATH_CHECK, STRING], DECISION), ask, CHECK)
  .member(
    'group',
    'authorizer_group',
    signature([AUTHORIZER, STRING], GROUP_CHECK),
    ([a, group]) => access(access(a).withResource({ group: group as string })).with(GROUP_CHECK.name, {}),
    ONE,
  )
  .member(
    'serviceAccount',
    'authorizer_serviceaccount',
    signature([AUTHORIZER, STRING, STRING], AUTHORIZER),
    ([a, namespace, name]) =>
      access(a).with(AUTHORIZER.name, { serviceAccount: { namespace: namespace as string, name: name as string } }),
    ONE,
  )
  .member(
    'resource',
    'groupcheck_resource',
    signature([GROUP_CHECK, STRING], RESOURCE_CHECK),
    ([a, resource]) => access(a).withResource({ resource: resource as string }),
    ONE,
  )
  .member(
    'subresource',
    'resourcecheck_subresource',
    RESOURCE_TEXT,
    ([a, subresource]) => access(a).withResource({ subresource: subresource as string }),
    ONE,
  )
  .member(
    'namespace',
    'resourcecheck_namespace',
    RESOURCE_TEXT,
    ([a, namespace]) => access(a).withResource({ namespace: namespace as string }),
    ONE,
  )
  .member(
    'name',
    'resourcecheck_name',
    RESOURCE_TEXT,
    ([a, name]) => access(a).withResource({ name: name as string }),
    ONE,
  )
  .member(
    'fieldSelector',
    'resourcecheck_fieldselector',
    RESOURCE_TEXT,
    ([a, fieldSelector]) => access(a).withResource({ fieldSelector: fieldSelector as string }),
    ONE,
  )
  .member(
    'labelSelector',
    'resourcecheck_labelselector',
    RESOURCE_TEXT,
    ([a, labelSelector]) => access(a).withResource({ labelSelector: labelSelector as string }),
    ONE,
  )
  .member('check', 'resourcecheck_check', signature([RESOURCE_CHECK, STRING], DECISION), ask, CHECK)
  .member('allowed', 'decision_allowed', signature([DECISION], BOOL), ([decision]) => answer(decision).allowed, ONE)
  .member('reason', 'decision_reason', signature([DECISION], STRING), ([decision]) => answer(decision).reason, ONE)
  .member(
    'errored',
    'decision_errored',
    signature([DECISION], BOOL),
    ([decision]) => answer(decision).error !== undefined,
    ONE,
  )
  .member('error', 'decision_error', signature([DECISION], STRING), ([decision]) => answer(decision).error ?? '', ONE)
  .build();

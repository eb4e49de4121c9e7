import { NAMESPACES } from '@holdfast/api';
import type { AccessAnswer, AccessQuestion, CelValue } from '@holdfast/cel';
import type { Clock } from '@holdfast/platform';
import type { User } from '../../authentication/identity.ts';
import type { Access } from '../../authorization/access.ts';
import { isAllowed } from '../../authorization/chain.ts';
import type { ObjectReader } from '../../cache/reader.ts';
import { cel } from '../../expressions/load.ts';
import type { RequestInfo } from '../../http/request-info.ts';
import { type Attributes, jsonOf } from './attributes.ts';
import { EvaluationTime, type TimeAllowance } from './evaluation-time.ts';
import { DYN, NAMESPACE_TYPE, REQUEST_TYPE, type Values } from './expressions.ts';

/** The part of an AdmissionRequest that expressions and webhooks share. */
export function requestJson(attributes: Attributes) {
  const { definition, kind, subresource, user, requested = attributes } = attributes;
  return {
    kind,
    resource: resourceJson(definition),
    ...(subresource === '' ? {} : { subResource: subresource }),
    requestKind: requested.kind,
    requestResource: resourceJson(requested.definition),
    ...(subresource === '' ? {} : { requestSubResource: subresource }),
    name: attributes.name,
    namespace: attributes.namespace,
    operation: attributes.operation,
    userInfo: userJson(user),
    dryRun: attributes.dryRun,
    options: attributes.options,
  };
}

const resourceJson = ({ group, version, plural }: Attributes['definition']) => ({ group, version, resource: plural });

function userJson({ name, uid, groups, extra }: User) {
  return {
    username: name,
    ...(uid === undefined ? {} : { uid }),
    groups,
    ...(extra === undefined ? {} : { extra }),
  };
}

/** An authorizer must look something up before it can answer. The evaluation is done again with the answer. */
class AnswerNeeded extends Error {
  readonly key: string;
  readonly question: AccessQuestion;
  constructor(key: string, question: AccessQuestion) {
    super('the authorizer has to look something up');
    this.key = key;
    this.question = question;
  }
}

export interface ValueDeps {
  readonly reader: ObjectReader;
  readonly access: Access;
  readonly clock: Clock;
}

/** The variables of one request, each made when it is first used. */
export class RequestValues {
  readonly #attributes: Attributes;
  readonly #deps: ValueDeps;
  readonly #made = new Map<string, CelValue>();
  readonly #answers = new Map<string, AccessAnswer>();

  constructor(attributes: Attributes, deps: ValueDeps) {
    this.#attributes = attributes;
    this.#deps = deps;
  }

  readonly get: Values = (name) => {
    const known = this.#made.get(name);
    if (known !== undefined) return known;
    const value = this.#make(name);
    if (value !== undefined) this.#made.set(name, value);
    return value;
  };

  /** The time for the expressions of one policy or webhook. */
  time(): EvaluationTime {
    return new EvaluationTime(this.#deps.clock);
  }

  /** Runs an evaluation; asks the authorizer what the evaluation wants to know, and runs it again. */
  async run<T>(evaluate: (time: TimeAllowance) => T, time = this.time()): Promise<T> {
    for (;;) {
      try {
        return time.spend(evaluate);
      } catch (error) {
        if (!(error instanceof AnswerNeeded)) throw error;
        this.#answers.set(error.key, await this.#ask(error.question));
      }
    }
  }

  #make(name: string): CelValue | undefined {
    const { object, oldObject } = this.#attributes;
    switch (name) {
      case 'object':
        return cel().fromJson(object, DYN);
      case 'oldObject':
        return cel().fromJson(oldObject, DYN);
      case 'request':
        return cel().fromJson(requestJson(this.#attributes), REQUEST_TYPE);
      case 'namespaceObject':
        return this.#namespace();
      case 'authorizer':
        return cel().authorizerValue(this.#decide);
      case 'authorizer.requestResource':
        return this.#requestResource();
      default:
        return undefined;
    }
  }

  #namespace(): CelValue {
    const { definition, namespace } = this.#attributes;
    if (!definition.namespaced) return null;
    const found = this.#deps.reader.cached(NAMESPACES, { name: namespace });
    return found === undefined ? null : cel().fromJson(jsonOf(found), NAMESPACE_TYPE);
  }

  #requestResource(): CelValue {
    const { subresource, namespace, name, requested = this.#attributes } = this.#attributes;
    const { group, plural: resource } = requested.definition;
    return cel().authorizerValue(this.#decide).withResource({ group, resource, subresource, namespace, name });
  }

  readonly #decide = (question: AccessQuestion): AccessAnswer => {
    const key = JSON.stringify(question);
    const known = this.#answers.get(key);
    if (known === undefined) throw new AnswerNeeded(key, question);
    return known;
  };

  async #ask(question: AccessQuestion): Promise<AccessAnswer> {
    const user = question.serviceAccount === undefined ? this.#attributes.user : accountUser(question.serviceAccount);
    const reason = await isAllowed(this.#deps.access.authorizers, user, infoOf(question));
    return { allowed: reason !== undefined, reason: reason ?? '' };
  }
}

function accountUser({ namespace, name }: { namespace: string; name: string }): User {
  return {
    name: `system:serviceaccount:${namespace}:${name}`,
    groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'],
  };
}

function infoOf({ verb, path, resource }: AccessQuestion): RequestInfo {
  if (resource === undefined) return { kind: 'path', verb, path: path ?? '' } as RequestInfo;
  const { group, resource: plural, subresource, namespace, name } = resource;
  return { kind: 'resource', verb, group, version: '*', resource: plural, subresource, namespace, name } as RequestInfo;
}

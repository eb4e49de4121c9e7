import { isJsonObject, type Json, type JsonObject } from '@holdfast/machinery';
import type { User } from '../authentication/identity.ts';
import type { RequestInfo, ResourceRequest } from '../http/request-info.ts';
import { AUDIT_LEVELS, type AuditLevel } from './notes.ts';

export const AUDIT_STAGES = ['RequestReceived', 'ResponseStarted', 'ResponseComplete', 'Panic'] as const;
export type AuditStage = (typeof AUDIT_STAGES)[number];

interface GroupResources {
  readonly group: string;
  readonly resources: readonly string[];
  readonly resourceNames: readonly string[];
}

interface AuditRule {
  readonly level: AuditLevel;
  readonly users: readonly string[];
  readonly userGroups: readonly string[];
  readonly verbs: readonly string[];
  readonly resources: readonly GroupResources[];
  readonly namespaces: readonly string[];
  readonly nonResourceURLs: readonly string[];
  readonly omitStages: ReadonlySet<AuditStage>;
  readonly omitManagedFields: boolean;
}

/** audit.k8s.io/v1 Policy. The first rule that matches a request decides. */
export interface AuditPolicy {
  readonly rules: readonly AuditRule[];
}

/** How a request is audited. */
export interface AuditDecision {
  readonly level: AuditLevel;
  readonly omitStages: ReadonlySet<AuditStage>;
  readonly omitManagedFields: boolean;
}

const NOT_AUDITED: AuditDecision = { level: 'None', omitStages: new Set(), omitManagedFields: false };

/** `user` is absent when authentication failed: then rules about users do not match. */
export function decideAudit(policy: AuditPolicy, user: User | undefined, info: RequestInfo): AuditDecision {
  return policy.rules.find((rule) => matches(rule, user, info)) ?? NOT_AUDITED;
}

/**
 * A request whose answer may have objects of every resource. Where its path is not audited, but some resource is for this
 * user, its metadata are: otherwise nobody would see that such objects were read.
 */
export function decideForAll(policy: AuditPolicy, user: User | undefined, info: RequestInfo): AuditDecision {
  const own = decideAudit(policy, user, info);
  if (own.level !== 'None') return own;
  const ofSome = policy.rules.find((rule) => rule.level !== 'None' && isOfResources(rule) && matchesCaller(rule, user));
  return ofSome === undefined ? own : { ...ofSome, level: 'Metadata' };
}

const isOfResources = ({ resources, namespaces, verbs }: AuditRule): boolean =>
  (resources.length > 0 || namespaces.length > 0) &&
  (verbs.length === 0 || verbs.includes('list') || verbs.includes('get'));

function matches(rule: AuditRule, user: User | undefined, info: RequestInfo): boolean {
  const { verbs, resources, namespaces, nonResourceURLs } = rule;
  if (!matchesCaller(rule, user)) return false;
  if (verbs.length > 0 && !verbs.includes(info.verb)) return false;
  if (resources.length > 0 || namespaces.length > 0) return info.kind === 'resource' && matchesResource(rule, info);
  if (nonResourceURLs.length === 0) return true;
  return info.kind === 'path' && nonResourceURLs.some((spec) => matchesPath(info.path, spec));
}

function matchesCaller({ users, userGroups }: AuditRule, user: User | undefined): boolean {
  if (users.length > 0 && (user === undefined || !users.includes(user.name))) return false;
  return userGroups.length === 0 || user?.groups.some((group) => userGroups.includes(group)) === true;
}

function matchesPath(path: string, spec: string): boolean {
  return spec === '*' || spec === path || (spec.endsWith('*') && path.startsWith(spec.replace(/\*+$/, '')));
}

function matchesResource({ namespaces, resources }: AuditRule, info: ResourceRequest): boolean {
  if (namespaces.length > 0 && !namespaces.includes(info.namespace)) return false;
  return resources.length === 0 || resources.some((each) => matchesGroup(each, info));
}

function matchesGroup({ group, resources, resourceNames }: GroupResources, info: ResourceRequest): boolean {
  if (group !== info.group) return false;
  if (resources.length === 0) return true;
  if (resourceNames.length > 0 && !resourceNames.includes(info.name)) return false;
  const { resource, subresource } = info;
  const full = subresource === '' ? resource : `${resource}/${subresource}`;
  return resources.some(
    (each) =>
      each === '*' || each === full || each === `${resource}/*` || (subresource !== '' && each === `*/${subresource}`),
  );
}

export interface ReadAuditPolicy {
  readonly policy: AuditPolicy;
  /** Sentences, each with its field. The policy counts only without any. */
  readonly mistakes: readonly string[];
}

const POLICY_FIELDS = ['apiVersion', 'kind', 'metadata', 'rules', 'omitStages', 'omitManagedFields'];
const RULE_FIELDS = [
  'level',
  'users',
  'userGroups',
  'verbs',
  'resources',
  'namespaces',
  'nonResourceURLs',
  'omitStages',
  'omitManagedFields',
];
const API_VERSION = 'audit.k8s.io/v1';
const RULES_MAX = 10_000;

/** Parses a policy and reports all its errors. */
export function readAuditPolicy(file: Json): ReadAuditPolicy {
  const reader = new PolicyReader();
  return { policy: reader.read(file), mistakes: reader.mistakes };
}

class PolicyReader {
  readonly mistakes: string[] = [];

  read(file: Json): AuditPolicy {
    if (!isJsonObject(file)) {
      this.mistakes.push('the file does not contain an object');
      return { rules: [] };
    }
    if (file['apiVersion'] !== API_VERSION) this.mistakes.push(`apiVersion: must be ${API_VERSION}`);
    if (file['kind'] !== 'Policy') this.mistakes.push('kind: must be Policy');
    this.#refuseOthers(file, POLICY_FIELDS, '');
    const omitStages = this.#stages(file, 'omitStages');
    const omitManagedFields = this.#flag(file, 'omitManagedFields') ?? false;
    const rules = this.#list(file, 'rules', '');
    if (rules.length === 0) this.mistakes.push('rules: must hold at least one rule');
    if (rules.length > RULES_MAX) this.mistakes.push(`rules: must hold at most ${RULES_MAX} rules`);
    return {
      rules: rules
        .slice(0, RULES_MAX)
        .map((each, i) => this.#rule(each, `rules[${i}]`, { omitStages, omitManagedFields })),
    };
  }

  #rule(value: Json, at: string, common: Pick<AuditRule, 'omitStages' | 'omitManagedFields'>): AuditRule {
    const rule = this.#object(value, at);
    this.#refuseOthers(rule, RULE_FIELDS, `${at}.`);
    const read: AuditRule = {
      level: this.#level(rule, at),
      users: this.#texts(rule, 'users', at),
      userGroups: this.#texts(rule, 'userGroups', at),
      verbs: this.#texts(rule, 'verbs', at),
      resources: this.#list(rule, 'resources', at).map((each, i) => this.#group(each, `${at}.resources[${i}]`)),
      namespaces: this.#texts(rule, 'namespaces', at),
      nonResourceURLs: this.#texts(rule, 'nonResourceURLs', at),
      omitStages: new Set([...common.omitStages, ...this.#stages(rule, 'omitStages', at)]),
      omitManagedFields: this.#flag(rule, 'omitManagedFields', at) ?? common.omitManagedFields,
    };
    this.#checkPaths(read, at);
    return read;
  }

  #checkPaths({ nonResourceURLs, resources, namespaces }: AuditRule, at: string): void {
    if (nonResourceURLs.length > 0 && (resources.length > 0 || namespaces.length > 0)) {
      this.mistakes.push(`${at}.nonResourceURLs: rules cannot apply to both regular resources and non-resource URLs`);
    }
    for (const [i, url] of nonResourceURLs.entries()) {
      if (url === '*') continue;
      const field = `${at}.nonResourceURLs[${i}]`;
      if (!url.startsWith('/')) this.mistakes.push(`${field}: must begin with a '/' character, not ${shown(url)}`);
      if (url.slice(0, -1).includes('*'))
        this.mistakes.push(`${field}: wildcards '*' must be the final character of the path`);
    }
  }

  #group(value: Json, at: string): GroupResources {
    const entry = this.#object(value, at);
    this.#refuseOthers(entry, ['group', 'resources', 'resourceNames'], `${at}.`);
    const group = entry['group'] ?? '';
    if (typeof group !== 'string') this.mistakes.push(`${at}.group: must be a text`);
    // A frequent slip: the version is no part of it.
    else if (group.includes('/'))
      this.mistakes.push(`${at}.group: must be a group without its version, not ${shown(group)}`);
    const resources = this.#texts(entry, 'resources', at);
    const resourceNames = this.#texts(entry, 'resourceNames', at);
    if (resourceNames.length > 0 && resources.length === 0) {
      this.mistakes.push(`${at}.resourceNames: using resourceNames requires at least one resource`);
    }
    return { group: typeof group === 'string' ? group : '', resources, resourceNames };
  }

  #level(rule: JsonObject, at: string): AuditLevel {
    const { level } = rule;
    const known = AUDIT_LEVELS.find((each) => each === level);
    if (known === undefined)
      this.mistakes.push(`${at}.level: must be one of ${AUDIT_LEVELS.join(', ')}${notThis(level)}`);
    return known ?? 'None';
  }

  #stages(of: JsonObject, field: string, at?: string): ReadonlySet<AuditStage> {
    const stages = new Set<AuditStage>();
    for (const text of this.#texts(of, field, at ?? '')) {
      const known = AUDIT_STAGES.find((each) => each === text);
      if (known !== undefined) stages.add(known);
      else this.mistakes.push(`${path(at, field)}: must be of ${AUDIT_STAGES.join(', ')}${notThis(text)}`);
    }
    return stages;
  }

  #flag(of: JsonObject, field: string, at?: string): boolean | undefined {
    const value = of[field];
    if (typeof value === 'boolean' || value === undefined || value === null) return value ?? undefined;
    this.mistakes.push(`${path(at, field)}: must be true or false`);
    return undefined;
  }

  #texts(of: JsonObject, field: string, at: string): readonly string[] {
    return this.#list(of, field, at).flatMap((each, i) => {
      if (typeof each === 'string') return [each];
      this.mistakes.push(`${path(at, field)}[${i}]: must be a text`);
      return [];
    });
  }

  #list(of: JsonObject, field: string, at: string): readonly Json[] {
    const value = of[field];
    if (Array.isArray(value)) return value;
    if (value !== undefined && value !== null) this.mistakes.push(`${path(at, field)}: must be a list`);
    return [];
  }

  #object(value: Json, at: string): JsonObject {
    if (isJsonObject(value)) return value;
    this.mistakes.push(`${at}: must be an object`);
    return {};
  }

  #refuseOthers(of: JsonObject, known: readonly string[], at: string): void {
    for (const field of Object.keys(of)) if (!known.includes(field)) this.mistakes.push(`${at}${field}: unknown field`);
  }
}

const path = (at: string | undefined, field: string): string =>
  at === undefined || at === '' ? field : `${at}.${field}`;
const shown = (text: string): string => JSON.stringify(text.slice(0, 100));
const notThis = (value: Json | undefined): string => (typeof value === 'string' ? `, not ${shown(value)}` : '');

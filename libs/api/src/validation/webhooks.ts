import { duplicate, type FieldError, invalid, notSupported, required, tooMany } from '@holdfast/machinery';
import type {
  MatchCondition,
  MatchResources,
  MutatingWebhook,
  NamedRuleWithOperations,
  RuleWithOperations,
  ValidatingWebhook,
  WebhookClientConfig,
} from '../generated/types.ts';
import { repeats, validateQualifiedName, validateRequiredText, validateText, validateWord } from './check.ts';
import { dns1035LabelErrors, dnsSubdomainErrors } from './formats.ts';
import { goStrings } from './go-text.ts';
import { validateLabelSelector } from './labels.ts';
import { pathSegmentErrors } from './rbac.ts';

const OPERATIONS = ['*', 'CONNECT', 'CREATE', 'DELETE', 'UPDATE'];
const TIMEOUT_SECONDS_MAX = 30;
const MATCH_CONDITIONS_MAX = 64;
const KNOWN_REVIEW_VERSIONS = ['v1', 'v1beta1'];

export function validateWebhooks(out: FieldError[], webhooks: readonly (ValidatingWebhook | MutatingWebhook)[]): void {
  const names = new Set<string>();
  for (const [i, webhook] of webhooks.entries()) {
    const path = `webhooks[${i}]`;
    validateWebhook(out, path, webhook);
    validateReviewVersions(out, `${path}.admissionReviewVersions`, webhook.admissionReviewVersions ?? []);
    if (!webhook.name) continue;
    if (names.has(webhook.name)) out.push(duplicate(`${path}.name`, webhook.name));
    names.add(webhook.name);
  }
}

const NO_EFFECTS = ['None', 'NoneOnDryRun'];

function validateWebhook(
  out: FieldError[],
  path: string,
  webhook: Readonly<ValidatingWebhook | MutatingWebhook>,
): void {
  validateFullyQualifiedName(out, `${path}.name`, webhook.name ?? '');
  validateRules(out, `${path}.rules`, webhook.rules ?? []);
  validateWord(out, `${path}.failurePolicy`, webhook.failurePolicy, ['Fail', 'Ignore']);
  validateWord(out, `${path}.matchPolicy`, webhook.matchPolicy, ['Equivalent', 'Exact']);
  if (webhook.sideEffects === undefined) {
    out.push(required(`${path}.sideEffects`, `must specify one of ${NO_EFFECTS.join(', ')}`));
  }
  validateWord(out, `${path}.sideEffects`, webhook.sideEffects, NO_EFFECTS);
  const timeout = webhook.timeoutSeconds;
  if (timeout !== undefined && (timeout < 1 || timeout > TIMEOUT_SECONDS_MAX)) {
    out.push(invalid(`${path}.timeoutSeconds`, timeout, 'the timeout value must be between 1 and 30 seconds'));
  }
  validateLabelSelector(out, `${path}.namespaceSelector`, webhook.namespaceSelector);
  validateLabelSelector(out, `${path}.objectSelector`, webhook.objectSelector);
  if ('reinvocationPolicy' in webhook) {
    validateWord(out, `${path}.reinvocationPolicy`, webhook.reinvocationPolicy, ['IfNeeded', 'Never']);
  }
  validateClientConfig(out, `${path}.clientConfig`, webhook.clientConfig ?? {});
  validateMatchConditions(out, `${path}.matchConditions`, webhook.matchConditions ?? []);
}

function validateFullyQualifiedName(out: FieldError[], path: string, name: string): void {
  if (!validateRequiredText(out, path, name)) return;
  const errors = dnsSubdomainErrors(name);
  if (errors.length > 0) out.push(invalid(path, name, errors.join(',')));
  else if (name.split('.').length < 3) {
    out.push(invalid(path, name, 'should be a domain with at least three segments separated by dots'));
  }
}

function validateRules(out: FieldError[], path: string, rules: readonly RuleWithOperations[]): void {
  for (const [i, rule] of rules.entries()) validateRule(out, `${path}[${i}]`, rule);
}

function validateRule(out: FieldError[], path: string, rule: Readonly<RuleWithOperations>): void {
  const { operations = [], apiGroups = [], apiVersions = [], resources = [] } = rule;
  if (operations.length === 0) out.push(required(`${path}.operations`));
  if (operations.length > 1 && operations.includes('*')) {
    const shown = goStrings(operations, 'admissionregistration.OperationType');
    out.push(invalid(`${path}.operations`, shown, "if '*' is present, must not specify other operations"));
  }
  for (const [i, operation] of operations.entries()) {
    if (!OPERATIONS.includes(operation)) out.push(notSupported(`${path}.operations[${i}]`, operation, OPERATIONS));
  }
  validateWildcards(out, `${path}.apiGroups`, apiGroups, false);
  validateWildcards(out, `${path}.apiVersions`, apiVersions, true);
  validateResources(out, `${path}.resources`, resources);
  validateWord(out, `${path}.scope`, rule.scope, ['*', 'Cluster', 'Namespaced']);
}

/**
 * Resources with or without a subresource, either of which may be a wildcard. No entry may be covered by an earlier
 * one.
 */
function validateResources(out: FieldError[], path: string, resources: readonly string[]): void {
  if (resources.length === 0) out.push(required(path));
  const allOf = new Set<string>();
  const ofAll = new Set<string>();
  for (const [i, resource] of resources.entries()) {
    const at = `${path}[${i}]`;
    if (resource === '') out.push(required(at));
    const slash = resource.indexOf('/');
    if (slash < 0) continue;
    const [name, sub] = [resource.slice(0, slash), resource.slice(slash + 1)];
    if (allOf.has(name)) out.push(invalid(at, resource, `if '${name}/*' is present, must not specify ${resource}`));
    if (ofAll.has(sub)) out.push(invalid(at, resource, `if '*/${sub}' is present, must not specify ${resource}`));
    if (sub === '*') allOf.add(name);
    if (name === '*') ofAll.add(sub);
  }
  if (resources.length > 1 && resources.includes('*/*')) {
    out.push(invalid(path, goStrings(resources), "if '*/*' is present, must not specify other resources"));
  }
  // Only the last one without a subresource counts.
  const last = resources.filter((resource) => resource !== '' && !resource.includes('/')).at(-1);
  if (resources.includes('*') && last !== '*') {
    const detail = "if '*' is present, must not specify other resources without subresources";
    out.push(invalid(path, goStrings(resources), detail));
  }
}

function validateWildcards(out: FieldError[], path: string, values: readonly string[], nonEmpty: boolean): void {
  if (values.length === 0) out.push(required(path));
  if (values.length > 1 && values.includes('*')) {
    const what = path.endsWith('apiGroups') ? 'groups' : 'versions';
    out.push(invalid(path, goStrings(values), `if '*' is present, must not specify other API ${what}`));
  }
  if (!nonEmpty) return;
  for (const [i, value] of values.entries()) if (value === '') out.push(required(`${path}[${i}]`));
}

export function validateClientConfig(out: FieldError[], path: string, config: Readonly<WebhookClientConfig>): void {
  const { url, service } = config;
  if ((url === undefined) === (service === undefined)) {
    out.push(required(path, 'exactly one of url or service is required'));
    return;
  }
  if (url !== undefined) validateWebhookUrl(out, `${path}.url`, url);
  if (service !== undefined) validateWebhookService(out, `${path}.service`, service);
}

function validateWebhookService(
  out: FieldError[],
  path: string,
  service: NonNullable<Readonly<WebhookClientConfig>['service']>,
): void {
  // Kubernetes checks the wrong field here, and names it in the message.
  validateRequiredText(out, `${path}.name`, service.namespace, 'service name is required');
  validateRequiredText(out, `${path}.namespace`, service.name, 'service namespace is required');
  const port = service.port ?? 443;
  if (port < 1 || port > 65_535) {
    out.push(invalid(`${path}.port`, port, 'port is not valid: must be between 1 and 65535, inclusive'));
  }
  if (service.path) validateServicePath(out, `${path}.path`, service.path);
}

function validateServicePath(out: FieldError[], at: string, path: string): void {
  if (path === '/') return;
  if (path === '//') {
    out.push(invalid(at, path, 'segment[0] may not be empty'));
    return;
  }
  if (!path.startsWith('/')) out.push(invalid(at, path, "must start with a '/'"));
  const steps = path.slice(1).replace(/\/$/, '').split('/');
  for (const [i, step] of steps.entries()) {
    if (step === '') out.push(invalid(at, path, `segment[${i}] may not be empty`));
    else for (const text of dnsSubdomainErrors(step)) out.push(invalid(at, path, `segment[${i}]: ${text}`));
  }
}

const URL_FORM = '; desired format: https://host[/path]';

function validateWebhookUrl(out: FieldError[], path: string, text: string): void {
  const url = parseUrl(text);
  if (typeof url === 'string') {
    out.push(required(path, `url must be a valid URL: ${url}${URL_FORM}`));
    return;
  }
  if (url.scheme !== 'https') {
    out.push(invalid(path, url.scheme, `'https' is the only allowed URL scheme${URL_FORM}`));
  }
  if (url.host === '') out.push(invalid(path, url.host, `host must be specified${URL_FORM}`));
  if (url.user !== undefined) out.push(invalid(path, url.user, 'user information is not permitted in the URL'));
  if (url.fragment !== '') out.push(invalid(path, url.fragment, 'fragments are not permitted in the URL'));
  if (url.query !== '') out.push(invalid(path, url.query, 'query parameters are not permitted in the URL'));
}

interface Url {
  readonly scheme: string;
  readonly host: string;
  readonly user: string | undefined;
  readonly fragment: string;
  readonly query: string;
}

/** Parses URLs as Go does, which accepts nearly anything. A string result is an error. */
function parseUrl(text: string): Url | string {
  const fail = (problem: string): string => `parse ${JSON.stringify(text)}: ${problem}`;
  const [whole = '', ...fragments] = text.split('#');
  if (whole.startsWith(':')) return fail('missing protocol scheme');
  const [, scheme = '', rest = ''] = /^(?:([A-Za-z][A-Za-z0-9+.-]*):)?([\s\S]*)$/.exec(whole) ?? [];
  const [place = '', ...queries] = rest.split('?');
  const [, authority = ''] = /^\/\/([^/]*)/.exec(place) ?? [];
  if (scheme === '' && !place.startsWith('/') && (place.split('/')[0] ?? '').includes(':')) {
    return fail('first path segment in URL cannot contain colon');
  }
  const at = authority.lastIndexOf('@');
  const host = authority.slice(at + 1);
  const [, port] = /(:[^:\]]*)$/.exec(host) ?? [];
  if (port !== undefined && !/^:\d*$/.test(port)) return fail(`invalid port ${JSON.stringify(port)} after host`);
  return {
    scheme: scheme.toLowerCase(),
    host,
    user: at < 0 ? undefined : authority.slice(0, at),
    fragment: fragments.join('#'),
    query: queries.join('?'),
  };
}

export function validateReviewVersions(out: FieldError[], path: string, versions: readonly string[]): void {
  if (versions.length === 0) {
    out.push(required(path, `must specify one of ${KNOWN_REVIEW_VERSIONS.join(', ')}`));
    return;
  }
  const isRepeated = repeats<string>();
  for (const [i, version] of versions.entries()) {
    if (isRepeated(version)) out.push(invalid(`${path}[${i}]`, version, 'duplicate version'));
    else validateText(out, `${path}[${i}]`, version, dns1035LabelErrors);
  }
  if (versions.some((version) => KNOWN_REVIEW_VERSIONS.includes(version))) return;
  const detail = `must include at least one of ${KNOWN_REVIEW_VERSIONS.join(', ')}`;
  out.push(invalid(path, goStrings(versions), detail));
}

export function validateMatchConditions(out: FieldError[], path: string, conditions: readonly MatchCondition[]): void {
  if (conditions.length > MATCH_CONDITIONS_MAX) out.push(tooMany(path, conditions.length, MATCH_CONDITIONS_MAX));
  const names = new Set<string>();
  for (const [i, { name, expression }] of conditions.entries()) {
    const at = `${path}[${i}]`;
    validateRequiredText(out, `${at}.expression`, expression?.trim());
    if (!validateRequiredText(out, `${at}.name`, name)) continue;
    validateQualifiedName(out, `${at}.name`, name);
    if (names.has(name)) out.push(duplicate(`${at}.name`, name));
    names.add(name);
  }
}

/** Validates the match resources of a policy or a binding. */
export function validateMatchResources(out: FieldError[], path: string, match: Readonly<MatchResources>): void {
  validateWord(out, `${path}.matchPolicy`, match.matchPolicy, ['Equivalent', 'Exact']);
  validateLabelSelector(out, `${path}.namespaceSelector`, match.namespaceSelector);
  validateLabelSelector(out, `${path}.objectSelector`, match.objectSelector);
  for (const key of ['resourceRules', 'excludeResourceRules'] as const) {
    for (const [i, rule] of (match[key] ?? []).entries()) validateNamedRule(out, `${path}.${key}[${i}]`, rule);
  }
}

function validateNamedRule(out: FieldError[], path: string, rule: Readonly<NamedRuleWithOperations>): void {
  const names = rule.resourceNames ?? [];
  const isRepeated = repeats<string>();
  for (const [i, name] of names.entries()) {
    validateText(out, `${path}.resourceNames[${i}]`, name, pathSegmentErrors);
    if (isRepeated(name)) out.push(duplicate(`${path}.resourceNames[${i}]`, name));
  }
  validateRule(out, path, rule);
}

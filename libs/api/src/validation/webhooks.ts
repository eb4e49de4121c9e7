import { type FieldError, forbidden, invalid, notSupported, required } from '@holdfast/machinery';
import type { MatchCondition, RuleWithOperations, ValidatingWebhook, WebhookClientConfig } from '../generated/types.ts';
import { validateQualifiedName, validateRequiredText, validateWord } from './check.ts';
import { dnsSubdomainErrors } from './formats.ts';
import { goStrings } from './go-text.ts';
import { validateLabelSelector } from './labels.ts';

const OPERATIONS = ['*', 'CONNECT', 'CREATE', 'DELETE', 'UPDATE'];
const TIMEOUT_SECONDS_MAX = 30;
const MATCH_CONDITIONS_MAX = 64;
const KNOWN_REVIEW_VERSIONS = ['v1', 'v1beta1'];

export function validateWebhook(out: FieldError[], path: string, webhook: Readonly<ValidatingWebhook>): void {
  validateFullyQualifiedName(out, `${path}.name`, webhook.name ?? '');
  validateRules(out, `${path}.rules`, webhook.rules ?? []);
  validateWord(out, `${path}.failurePolicy`, webhook.failurePolicy, ['Fail', 'Ignore']);
  validateWord(out, `${path}.matchPolicy`, webhook.matchPolicy, ['Equivalent', 'Exact']);
  validateWord(out, `${path}.sideEffects`, webhook.sideEffects ?? '', ['None', 'NoneOnDryRun']);
  const timeout = webhook.timeoutSeconds;
  if (timeout !== undefined && (timeout < 1 || timeout > TIMEOUT_SECONDS_MAX)) {
    out.push(invalid(`${path}.timeoutSeconds`, timeout, 'the timeout value must be between 1 and 30 seconds'));
  }
  validateLabelSelector(out, `${path}.namespaceSelector`, webhook.namespaceSelector);
  validateLabelSelector(out, `${path}.objectSelector`, webhook.objectSelector);
  validateClientConfig(out, `${path}.clientConfig`, webhook.clientConfig ?? {});
  validateReviewVersions(out, `${path}.admissionReviewVersions`, webhook.admissionReviewVersions ?? []);
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

export function validateRules(out: FieldError[], path: string, rules: readonly RuleWithOperations[]): void {
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
  if (resources.length === 0) out.push(required(`${path}.resources`));
  for (const [i, resource] of resources.entries()) {
    if (resource === '') out.push(required(`${path}.resources[${i}]`));
  }
  if (resources.length > 1 && resources.includes('*/*')) {
    out.push(
      invalid(`${path}.resources`, goStrings(resources), "if '*/*' is present, must not specify other resources"),
    );
  }
  validateWord(out, `${path}.scope`, rule.scope, ['*', 'Cluster', 'Namespaced']);
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
  if (service === undefined) return;
  validateRequiredText(out, `${path}.service.name`, service.name, 'service name is required');
  validateRequiredText(out, `${path}.service.namespace`, service.namespace, 'service namespace is required');
  const port = service.port ?? 443;
  if (port < 1 || port > 65_535) {
    out.push(invalid(`${path}.service.port`, port, 'port is not valid: must be between 1 and 65535, inclusive'));
  }
  if (service.path !== undefined && !service.path.startsWith('/')) {
    out.push(invalid(`${path}.service.path`, service.path, "must start with a '/'"));
  }
}

const URL_FORM = '; desired format: https://host[/path]';

function validateWebhookUrl(out: FieldError[], path: string, text: string): void {
  const url = URL.parse(text);
  if (url === null) {
    out.push(required(path, `url must be a valid URL: ${text}${URL_FORM}`));
    return;
  }
  if (url.protocol !== 'https:') {
    out.push(invalid(path, url.protocol.slice(0, -1), `'https' is the only allowed URL scheme${URL_FORM}`));
  }
  if (url.host === '') out.push(invalid(path, '', `host must be specified${URL_FORM}`));
  if (url.username !== '') out.push(invalid(path, url.username, 'user information is not permitted in the URL'));
  if (url.hash !== '') out.push(invalid(path, url.hash.slice(1), 'fragments are not permitted in the URL'));
  if (url.search !== '') out.push(invalid(path, url.search.slice(1), 'query parameters are not permitted in the URL'));
}

function validateReviewVersions(out: FieldError[], path: string, versions: readonly string[]): void {
  if (versions.length === 0) {
    out.push(required(path, `must specify one of ${KNOWN_REVIEW_VERSIONS.join(', ')}`));
    return;
  }
  if (versions.some((version) => KNOWN_REVIEW_VERSIONS.includes(version))) return;
  const detail = `must include at least one of ${KNOWN_REVIEW_VERSIONS.join(', ')}`;
  out.push(invalid(path, goStrings(versions), detail));
}

export function validateMatchConditions(out: FieldError[], path: string, conditions: readonly MatchCondition[]): void {
  if (conditions.length > MATCH_CONDITIONS_MAX) {
    out.push({
      ...forbidden(path, `must have at most ${MATCH_CONDITIONS_MAX} items`),
      type: 'FieldValueTooMany',
      badValue: conditions.length,
    });
  }
  const names = new Set<string>();
  for (const [i, { name, expression }] of conditions.entries()) {
    if (validateRequiredText(out, `${path}[${i}].name`, name)) {
      if (names.has(name))
        out.push({ type: 'FieldValueDuplicate', field: `${path}[${i}].name`, badValue: name, detail: '' });
      names.add(name);
      validateQualifiedName(out, `${path}[${i}].name`, name);
    }
    validateRequiredText(out, `${path}[${i}].expression`, expression?.trim());
  }
}

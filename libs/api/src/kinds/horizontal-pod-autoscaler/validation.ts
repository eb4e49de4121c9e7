import { type FieldError, forbidden, invalid, notSupported, parseQuantity, required } from '@holdfast/machinery';
import type {
  ContainerResourceMetricSource,
  CrossVersionObjectReference,
  HorizontalPodAutoscaler,
  HPAScalingRules,
  MetricIdentifier,
  MetricSpec,
  MetricTarget,
} from '../../generated/types.ts';
import { validateDnsLabel, validateRequiredText, validateText } from '../../validation/check.ts';
import { dnsSubdomainErrors } from '../../validation/formats.ts';
import { NOT_POSITIVE_TEXT, validateNonNegative } from '../../validation/numbers.ts';
import { goQuantity, validateContainerResourceName } from '../../validation/quantities.ts';
import { pathSegmentErrors } from '../../validation/rbac.ts';
import { checked, checkedUpdate } from '../checked.ts';

const META = { namespaced: true, name: dnsSubdomainErrors } as const;

export const hpaChecks = checked<HorizontalPodAutoscaler>(META, (out, { spec }) => {
  const { minReplicas, maxReplicas } = spec;
  if (minReplicas !== undefined && minReplicas < 1) {
    out.push(invalid('spec.minReplicas', minReplicas, 'must be greater than or equal to 1'));
  }
  if ((maxReplicas ?? 0) < 1) out.push(invalid('spec.maxReplicas', maxReplicas ?? 0, NOT_POSITIVE_TEXT));
  if (minReplicas !== undefined && (maxReplicas ?? 0) < minReplicas) {
    out.push(invalid('spec.maxReplicas', maxReplicas ?? 0, 'must be greater than or equal to `minReplicas`'));
  }
  validateReference(out, 'spec.scaleTargetRef', spec.scaleTargetRef);
  const metrics = spec.metrics ?? [];
  for (const [i, metric] of metrics.entries()) validateMetric(out, `spec.metrics[${i}]`, metric);
  // With zero pods there is no pod usage, so pod metrics cannot scale up from zero.
  if (minReplicas === 0 && !metrics.some(({ type }) => type === 'Object' || type === 'External')) {
    const detail = 'must specify at least one Object or External metric to support scaling to zero replicas';
    out.push(forbidden('spec.metrics', detail));
  }
  for (const key of ['scaleUp', 'scaleDown'] as const) {
    const rules = spec.behavior?.[key];
    if (rules !== undefined) validateRules(out, `spec.behavior.${key}`, rules);
  }
});

export const validateHpaStatusUpdate = checkedUpdate<HorizontalPodAutoscaler>((out, { status }) => {
  validateNonNegative(out, 'status.currentReplicas', status.currentReplicas);
  validateNonNegative(out, 'status.desiredReplicas', status.desiredReplicas);
});

function validateReference(out: FieldError[], path: string, ref: Readonly<CrossVersionObjectReference>): void {
  for (const key of ['kind', 'name'] as const) {
    if (validateRequiredText(out, `${path}.${key}`, ref[key])) {
      validateText(out, `${path}.${key}`, ref[key], pathSegmentErrors);
    }
  }
}

const SOURCES = {
  ContainerResource: 'containerResource',
  External: 'external',
  Object: 'object',
  Pods: 'pods',
  Resource: 'resource',
} as const;

type SourceField = (typeof SOURCES)[keyof typeof SOURCES];
/** In the order of the checks. */
const FIELDS: readonly SourceField[] = ['object', 'external', 'pods', 'resource', 'containerResource'];

const isSourceType = (type: string): type is keyof typeof SOURCES => Object.hasOwn(SOURCES, type);

function validateMetric(out: FieldError[], path: string, metric: Readonly<MetricSpec>): void {
  const type = metric.type ?? '';
  const expected = isSourceType(type) ? SOURCES[type] : undefined;
  if (type === '') out.push(required(`${path}.type`, 'must specify a metric source type'));
  if (expected === undefined) out.push(notSupported(`${path}.type`, type, Object.keys(SOURCES)));
  const given = FIELDS.filter((field) => metric[field] !== undefined);
  // Checks only the first of several sources.
  if (given[0] !== undefined) validateSource(out, `${path}.${given[0]}`, metric, given[0]);
  if (expected === undefined) out.push(notSupported(`${path}.type`, type, Object.keys(SOURCES)));
  else if (!given.includes(expected)) {
    out.push(required(`${path}.${expected}`, 'must populate information for the given metric source'));
  }
  if (given.length <= 1) return;
  for (const field of given) {
    if (field !== expected) out.push(forbidden(`${path}.${field}`, 'must populate the given metric source only'));
  }
}

const EITHER_TARGET = {
  object: 'must set either a target value or averageValue',
  external: 'must set either a target value for metric or a per-pod target',
};

function validateSource(out: FieldError[], path: string, metric: Readonly<MetricSpec>, field: SourceField): void {
  const source = metric[field];
  if (source === undefined) return;
  validateMeasured(out, path, metric, field);
  const target: Readonly<MetricTarget> = source.target ?? { type: '' };
  validateTarget(out, `${path}.target`, target);
  const { value, averageValue, averageUtilization } = target;
  if (field === 'pods') {
    if (averageValue === undefined) {
      out.push(required(`${path}.target.averageValue`, 'must specify a positive target averageValue'));
    }
  } else if (field === 'resource' || field === 'containerResource') {
    if (averageUtilization === undefined && averageValue === undefined) {
      out.push(
        required(`${path}.target.averageUtilization`, 'must set either a target raw value or a target utilization'),
      );
    }
    if (averageUtilization !== undefined && averageValue !== undefined) {
      out.push(
        forbidden(`${path}.target.averageValue`, 'may not set both a target raw value and a target utilization'),
      );
    }
  } else {
    if (value === undefined && averageValue === undefined)
      out.push(required(`${path}.target.averageValue`, EITHER_TARGET[field]));
    if (field === 'external' && value !== undefined && averageValue !== undefined) {
      out.push(forbidden(`${path}.target.value`, 'may not set both a target value for metric and a per-pod target'));
    }
  }
}

/** Checks the metric and its target object; a request may omit all of it. */
function validateMeasured(out: FieldError[], path: string, metric: Readonly<MetricSpec>, field: SourceField): void {
  switch (field) {
    case 'object':
      validateReference(out, `${path}.describedObject`, metric.object?.describedObject ?? { kind: '', name: '' });
      validateIdentifier(out, `${path}.metric`, metric.object?.metric);
      break;
    case 'resource':
      validateRequiredText(out, `${path}.name`, metric.resource?.name, 'must specify a resource name');
      break;
    case 'containerResource':
      validateContainer(out, path, metric.containerResource ?? {});
      break;
    case 'external':
    case 'pods':
      validateIdentifier(out, `${path}.metric`, metric[field]?.metric);
  }
}

/** Only for resources of containers. */
function validateContainer(
  out: FieldError[],
  path: string,
  { name, container }: Readonly<Partial<ContainerResourceMetricSource>>,
): void {
  if (validateRequiredText(out, `${path}.name`, name, 'must specify a resource name')) {
    validateContainerResourceName(out, `${path}.name`, name ?? '');
  }
  if (validateRequiredText(out, `${path}.container`, container, 'must specify a container')) {
    validateDnsLabel(out, `${path}.container`, container);
  }
}

function validateIdentifier(out: FieldError[], path: string, identifier: Readonly<MetricIdentifier> | undefined): void {
  const name = identifier?.name ?? '';
  if (name === '') out.push(required(`${path}.name`, 'must specify a metric name'));
  else validateText(out, `${path}.name`, name, pathSegmentErrors);
}

function validateTarget(out: FieldError[], path: string, target: Readonly<MetricTarget>): void {
  const type = target.type ?? '';
  if (type === '') out.push(required(`${path}.type`, 'must specify a metric target type'));
  if (!['Utilization', 'Value', 'AverageValue'].includes(type)) {
    out.push(invalid(`${path}.type`, type, 'must be either Utilization, Value, or AverageValue'));
  }
  for (const key of ['value', 'averageValue'] as const) {
    const amount = target[key];
    if (amount === undefined || parseQuantity(amount).nano > 0n) continue;
    out.push(invalid(`${path}.${key}`, goQuantity(parseQuantity(amount)), 'must be positive'));
  }
  if (target.averageUtilization !== undefined && target.averageUtilization < 1) {
    out.push(invalid(`${path}.averageUtilization`, target.averageUtilization, NOT_POSITIVE_TEXT));
  }
}

const WINDOW_SECONDS_MAX = 3600;
const PERIOD_SECONDS_MAX = 1800;

function validateRules(out: FieldError[], path: string, rules: Readonly<HPAScalingRules>): void {
  const { stabilizationWindowSeconds: window, selectPolicy, policies = [] } = rules;
  const at = `${path}.stabilizationWindowSeconds`;
  if (window !== undefined && window < 0) out.push(invalid(at, window, 'must be greater than or equal to zero'));
  if (window !== undefined && window > WINDOW_SECONDS_MAX) {
    out.push(invalid(at, window, `must be less than or equal to ${WINDOW_SECONDS_MAX}`));
  }
  const choices = ['Disabled', 'Max', 'Min'];
  if (selectPolicy !== undefined && !choices.includes(selectPolicy)) {
    out.push(notSupported(`${path}.selectPolicy`, selectPolicy, choices));
  }
  if (policies.length === 0) out.push(required(`${path}.policies`, 'must specify at least one Policy'));
  for (const [i, { type, value, periodSeconds }] of policies.entries()) {
    const policy = `${path}.policies[${i}]`;
    if (type !== 'Percent' && type !== 'Pods')
      out.push(notSupported(`${policy}.type`, type ?? '', ['Percent', 'Pods']));
    if ((value ?? 0) <= 0) out.push(invalid(`${policy}.value`, value ?? 0, 'must be greater than zero'));
    if ((periodSeconds ?? 0) <= 0)
      out.push(invalid(`${policy}.periodSeconds`, periodSeconds ?? 0, 'must be greater than zero'));
    if ((periodSeconds ?? 0) > PERIOD_SECONDS_MAX) {
      out.push(
        invalid(`${policy}.periodSeconds`, periodSeconds, `must be less than or equal to ${PERIOD_SECONDS_MAX}`),
      );
    }
  }
}

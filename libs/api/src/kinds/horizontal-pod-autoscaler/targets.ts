import type {
  HorizontalPodAutoscaler,
  MetricSpec,
  MetricStatus,
  MetricTarget,
  MetricValueStatus,
} from '../../generated/types.ts';

const UNKNOWN = '<unknown>';
const SHOWN_MAX = 2;

/** `cpu: 12%/80%`: current and target value. */
export function targetsText({ spec, status }: Readonly<HorizontalPodAutoscaler>): string {
  const specs = spec.metrics ?? [];
  if (specs.length === 0) return '<none>';
  const texts = specs.map((metric, i) => metricText(metric, status.currentMetrics?.[i]));
  const more = texts.length - SHOWN_MAX;
  return more > 0 ? `${texts.slice(0, SHOWN_MAX).join(', ')} + ${more} more...` : texts.join(', ');
}

function metricText(spec: Readonly<MetricSpec>, status: Readonly<MetricStatus> | undefined): string {
  switch (spec.type) {
    case 'Resource':
      return `${spec.resource?.name ?? ''}: ${pair(spec.resource?.target, status?.resource?.current)}`;
    case 'ContainerResource':
      return `${spec.containerResource?.name ?? ''}: ${pair(spec.containerResource?.target, status?.containerResource?.current)}`;
    case 'Pods':
      return pair(spec.pods?.target, status?.pods?.current);
    case 'Object':
      return pair(spec.object?.target, status?.object?.current, ' (avg)');
    case 'External':
      return pair(spec.external?.target, status?.external?.current, ' (avg)');
    default:
      return '<unknown type>';
  }
}

function pair(
  target: Readonly<MetricTarget> | undefined,
  current: Readonly<MetricValueStatus> | undefined,
  average = '',
): string {
  if (target?.averageValue !== undefined) {
    return `${current?.averageValue ?? UNKNOWN}/${target.averageValue}${average}`;
  }
  if (target?.averageUtilization !== undefined) {
    const now = current?.averageUtilization;
    return `${now === undefined ? UNKNOWN : `${now}%`}/${target.averageUtilization}%`;
  }
  return `${current?.value ?? UNKNOWN}/${target?.value ?? '<auto>'}`;
}

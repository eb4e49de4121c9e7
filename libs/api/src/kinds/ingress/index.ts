import { ownValue } from '@holdfast/machinery';
import { ageColumn, nameColumn, textColumn } from '../../columns/columns.ts';
import { setDefault } from '../../defaults/set.ts';
import type { Ingress } from '../../generated/types.ts';
import { INGRESSES } from '../../refs.ts';
import { INGRESS_CLASS_ANNOTATION } from '../../semantics/well-known.ts';
import { defineResource } from '../define.ts';
import { keepStatus, specChanged, statusOnly } from '../strategy.ts';
import { ingressChecks, validateIngressStatusUpdate } from './validation.ts';

const SHOWN_HOSTS_MAX = 3;

export const ingressResource = defineResource(INGRESSES, {
  setDefaults: (ingress) => {
    setDefault(ingress, 'spec', {});
    setDefault(ingress, 'status', { loadBalancer: {} });
    setDefault(ingress.status, 'loadBalancer', {});
  },
  strategy: {
    prepareForCreate: (ingress) => {
      ingress.status = { loadBalancer: {} };
    },
    prepareForUpdate: keepStatus,
    ...ingressChecks,
    warnings: classWarnings,
    generationChanges: specChanged,
    allowUnconditionalUpdate: true,
  },
  status: statusOnly(validateIngressStatusUpdate),
  columns: [
    nameColumn,
    textColumn('Class', 'Who serves the ingress', ({ spec }) => spec.ingressClassName ?? '<none>'),
    textColumn('Hosts', 'The hosts that are served', hostsText),
    textColumn('Address', 'Where the ingress can be reached', addressText),
    textColumn('Ports', 'The ports of the ingress', ({ spec }) => ((spec.tls ?? []).length > 0 ? '80, 443' : '80')),
    ageColumn,
  ],
});

function hostsText({ spec }: Readonly<Ingress>): string {
  const rules = spec.rules ?? [];
  const named = rules.flatMap(({ host }, i) => (host ? [{ host, i }] : []));
  if (named.length === 0) return '*';
  const text = named
    .slice(0, SHOWN_HOSTS_MAX)
    .map(({ host }) => host)
    .join(',');
  // Counts the rules after the last shown host, including those without a host.
  const last = named[SHOWN_HOSTS_MAX - 1]?.i;
  const more = last !== undefined && last < rules.length - 1;
  return more ? `${text} + ${rules.length - SHOWN_HOSTS_MAX} more...` : text;
}

function addressText({ status }: Readonly<Ingress>): string {
  const addresses = (status.loadBalancer.ingress ?? []).map(({ ip, hostname }) => ip || hostname || '');
  return [...new Set(addresses.filter((address) => address !== ''))].sort().join(',');
}

function classWarnings({ metadata }: Readonly<Ingress>, old: Readonly<Ingress> | undefined): readonly string[] {
  const key = INGRESS_CLASS_ANNOTATION;
  if (old !== undefined || ownValue(metadata.annotations, key) === undefined) return [];
  return [`annotation ${JSON.stringify(key)} is deprecated, please use 'spec.ingressClassName' instead`];
}

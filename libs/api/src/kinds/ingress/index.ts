import { ageColumn, nameColumn, textColumn } from '../../columns/columns.ts';
import { setDefault } from '../../defaults/set.ts';
import type { Ingress } from '../../generated/types.ts';
import { INGRESSES } from '../../refs.ts';
import { defineResource } from '../define.ts';
import { keepStatus, specChanged, statusOnly } from '../strategy.ts';
import { ingressChecks, validateIngressStatusUpdate } from './validation.ts';

const SHOWN_ADDRESS_CHARS_MAX = 16;
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
    textColumn('Class', 'Who serves the ingress', ({ metadata, spec }) => {
      return spec.ingressClassName ?? metadata.annotations?.['kubernetes.io/ingress.class'] ?? '<none>';
    }),
    textColumn('Hosts', 'The hosts that are served', hostsText),
    textColumn('Address', 'Where the ingress can be reached', addressText),
    textColumn('Ports', 'The ports of the ingress', ({ spec }) => ((spec.tls ?? []).length > 0 ? '80, 443' : '80')),
    ageColumn,
  ],
});

function hostsText({ spec }: Readonly<Ingress>): string {
  const rules = spec.rules ?? [];
  if (rules.length === 0) return '*';
  const shown = rules.slice(0, SHOWN_HOSTS_MAX).map((rule) => rule.host || '*');
  const more = rules.length - SHOWN_HOSTS_MAX;
  return more > 0 ? `${shown.join(',')} + ${more} more...` : shown.join(',');
}

function addressText({ status }: Readonly<Ingress>): string {
  const addresses = (status.loadBalancer.ingress ?? []).map(({ ip, hostname }) => ip || hostname || '');
  const text = [...new Set(addresses.filter((address) => address !== ''))].sort().join(',');
  return text.length > SHOWN_ADDRESS_CHARS_MAX && addresses.length > 1
    ? `${text.slice(0, SHOWN_ADDRESS_CHARS_MAX - 3)}...`
    : text;
}

function classWarnings({ metadata }: Readonly<Ingress>, old: Readonly<Ingress> | undefined): readonly string[] {
  const key = 'kubernetes.io/ingress.class';
  if (old !== undefined || metadata.annotations?.[key] === undefined) return [];
  return [`annotation ${JSON.stringify(key)} is deprecated, please use 'spec.ingressClassName' instead`];
}

import { semanticEqual } from '@holdfast/machinery';
import { ageColumn, nameColumn, textColumn } from '../../columns/columns.ts';
import { setDefault } from '../../defaults/set.ts';
import type { EndpointSlice } from '../../generated/types.ts';
import { ENDPOINT_SLICES } from '../../refs.ts';
import { defineResource } from '../define.ts';
import { endpointSliceChecks } from './validation.ts';

const SHOWN_MAX = 3;
const UNSET = '<unset>';

export const endpointSliceResource = defineResource(ENDPOINT_SLICES, {
  setDefaults: (slice) => {
    if (slice.endpoints === undefined) Object.assign(slice, { endpoints: null });
    if (slice.ports === undefined) Object.assign(slice, { ports: null });
    for (const port of slice.ports ?? []) {
      setDefault(port, 'name', '');
      setDefault(port, 'protocol', 'TCP');
    }
    for (const endpoint of slice.endpoints ?? []) setDefault(endpoint, 'conditions', {});
  },
  strategy: {
    prepareForCreate: dropTopology,
    prepareForUpdate: (slice, old) => {
      if (!semanticEqual(slice.endpoints, old.endpoints)) dropTopology(slice);
    },
    ...endpointSliceChecks,
    generationChanges: (slice, old) => !semanticEqual(contentOf(slice), contentOf(old)),
    allowUnconditionalUpdate: true,
  },
  columns: [
    nameColumn,
    textColumn('AddressType', 'What the addresses are', (slice) => slice.addressType ?? ''),
    textColumn('Ports', 'The ports of every endpoint', (slice) =>
      listText((slice.ports ?? []).map(({ port, name }) => String(port ?? name ?? '*'))),
    ),
    textColumn('Endpoints', 'The addresses', (slice) =>
      listText((slice.endpoints ?? []).flatMap((endpoint) => endpoint.addresses ?? [])),
    ),
    ageColumn,
  ],
});

/** The topology field of the first version is read but no longer written. */
function dropTopology(slice: EndpointSlice): void {
  for (const endpoint of slice.endpoints ?? []) delete endpoint.deprecatedTopology;
}

const contentOf = ({ endpoints, ports, addressType, metadata }: Readonly<EndpointSlice>): object => ({
  endpoints,
  ports,
  addressType,
  labels: metadata.labels,
});

function listText(texts: readonly string[]): string {
  const more = texts.length - SHOWN_MAX;
  return more > 0 ? `${texts.slice(0, SHOWN_MAX).join(',')} + ${more} more...` : texts.join(',') || UNSET;
}

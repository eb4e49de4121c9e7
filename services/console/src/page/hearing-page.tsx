import type { Cell, Party } from '@holdfast/client/hearing';
import type { VNode } from 'preact';
import { readParties } from '../state/hearing.ts';
import { NODES, objectHash } from '../state/routes.ts';
import { useShell } from './shell.tsx';
import { useFollowed } from './use-followed.tsx';

const AGAIN_MS = 4_000;

/** The partition matrix: who hears whom, from what the components report. */
export function HearingPage(): VNode {
  const shell = useShell();
  const { api, at, offers, guard } = shell;
  const isPast = at.value !== '';
  const { found, failure } = useFollowed({
    key: 'hearing',
    read: () =>
      readParties(api, {
        machine: { ...shell.machine, now: () => shell.time() },
        guard,
        servers: offers.value.servers,
        at: at.value,
      }),
    again: () => AGAIN_MS,
  });
  return (
    <div class="page hearing">
      <div class="title">
        <h1>Who hears whom</h1>
        <span class="sum">
          {isPast
            ? 'as the history has it: what API servers said of themselves is not kept'
            : 'as the components report it'}
        </span>
      </div>
      {failure !== '' && (
        <p class="refusal" role="alert">
          {failure}
        </p>
      )}
      {found === undefined && failure === '' && <p class="empty big">Loading</p>}
      {found !== undefined && <Matrix parties={found} />}
    </div>
  );
}

/** A larger cluster is shown with what is not well first. */
const ROWS_MAX = 200;

function Matrix({ parties }: { readonly parties: readonly Party[] }): VNode {
  const troubled = parties.filter(isTroubled);
  const shown = [...troubled, ...parties.filter((party) => !isTroubled(party))].slice(0, ROWS_MAX);
  return (
    <div class="matrix card" tabIndex={0} role="region" aria-label="Matrix">
      <table>
        <thead>
          <tr>
            <th scope="col">Who</th>
            <th scope="col">The API hears it</th>
            <th scope="col">It hears of changes</th>
            <th scope="col">It reaches the store</th>
          </tr>
        </thead>
        <tbody>
          {shown.map((party) => (
            <tr key={`${party.kind}/${party.name}`}>
              <th scope="row">
                {party.kind === 'node' ? <a href={objectHash(NODES, '', party.name)}>{party.name}</a> : party.name}
              </th>
              <CellView cell={party.isHeard} />
              <CellView cell={party.knows} />
              <CellView cell={party.store} />
            </tr>
          ))}
        </tbody>
      </table>
      {parties.length > shown.length && <p class="muted">and {parties.length - shown.length} more</p>}
    </div>
  );
}

const isTroubled = ({ isHeard, knows, store }: Party): boolean =>
  [isHeard, knows, store].some(({ state }) => state === 'silent' || state === 'late');

const TILES: Readonly<Record<Cell['state'], string>> = {
  hears: 'running',
  late: 'unready',
  silent: 'failing',
  unknown: 'unknown',
  none: '',
};
const WORDS: Readonly<Record<Cell['state'], string>> = {
  hears: 'Yes',
  late: 'Late',
  silent: 'No',
  unknown: 'Not known',
  none: '',
};

const CellView = ({ cell: { state, text } }: { readonly cell: Cell }): VNode => (
  <td class={state}>
    {state !== 'none' && (
      <>
        <span class={`tile ${TILES[state]}`} aria-hidden="true" /> {WORDS[state]}
        <p class="muted">{text}</p>
      </>
    )}
  </td>
);

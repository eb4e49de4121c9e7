import { hasRollout } from '@holdfast/client/rollout';
import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Api } from '../state/api.ts';
import { pastPath } from '../state/history.ts';
import type { ApiObject } from '../state/object.ts';
import { listHash, objectHash, pathOf, type Route } from '../state/routes.ts';
import { Changes } from './changes.tsx';
import { LiveBadge } from './live-badge.tsx';
import { Logs } from './logs.tsx';
import { RolloutView } from './rollout-view.tsx';
import { useShell } from './shell.tsx';
import { Summary } from './summary.tsx';
import { Terminal } from './terminal.tsx';
import { useLiveTable } from './use-live-table.tsx';
import { YamlView } from './yaml-view.tsx';

type ObjectRoute = Extract<Route, { page: 'object' }>;

/** One object: its row is watched, and each change of it is read again. */
export function ObjectPage({ route }: { readonly route: ObjectRoute }): VNode {
  const { resource, namespace, name, tab } = route;
  const shell = useShell();
  const kind = shell.kindOf(resource);
  const live = useLiveTable(pathOf(resource, namespace), { fieldSelector: `metadata.name=${name}` });
  const { object, failure } = useObject(route, live.tick.value);
  const tabs = [
    'summary',
    ...(resource.group === 'apps' && hasRollout(kind?.kind ?? '') ? ['rollout'] : []),
    'yaml',
    ...(resource.plural === 'pods' && resource.group === '' ? ['logs', 'terminal'] : []),
    ...(shell.range.value === undefined ? [] : ['history']),
  ];
  return (
    <div class="page object">
      <nav class="crumbs" aria-label="Path">
        <a href={listHash(resource)}>{kind?.kind ?? resource.plural}</a>
        {namespace !== '' && <a href={listHash(resource, { namespace })}>{namespace}</a>}
      </nav>
      <div class="title">
        <h1>{name}</h1>
        <LiveBadge tables={[live.table]} />
      </div>
      <nav class="tabs" aria-label="Views of this object">
        {tabs.map((each) => (
          <a
            key={each}
            href={objectHash(resource, namespace, name, each)}
            {...(each === tab ? { 'aria-current': 'page' as const } : {})}
          >
            {TITLES.get(each)}
          </a>
        ))}
      </nav>
      {failure !== '' && (
        <p class="refusal" role="alert">
          {failure}
        </p>
      )}
      {object !== undefined && <Tab tab={tab} object={object} route={route} tick={live.tick.value} />}
    </div>
  );
}

const TITLES = new Map([
  ['summary', 'Summary'],
  ['rollout', 'Rollout'],
  ['yaml', 'YAML'],
  ['logs', 'Logs'],
  ['terminal', 'Terminal'],
  ['history', 'History'],
]);

interface TabProps {
  readonly tab: string;
  readonly object: ApiObject;
  readonly route: ObjectRoute;
  readonly tick: number;
}

function Tab({ tab, object, route, tick }: TabProps): VNode {
  if (tab === 'yaml') return <YamlView route={route} tick={tick} />;
  if (tab === 'logs') return <Logs pod={object} />;
  if (tab === 'rollout') return <RolloutView object={object} resource={route.resource} tick={tick} />;
  if (tab === 'terminal') return <Terminal pod={object} />;
  if (tab === 'history') return <Changes path={pathOf(route.resource, route.namespace, route.name)} tick={tick} />;
  return <Summary object={object} resource={route.resource} tick={tick} />;
}

function useObject({ resource, namespace, name }: ObjectRoute, tick: number) {
  const { api, at } = useShell();
  const [known, setKnown] = useState<{ object?: ApiObject; failure: string }>({ failure: '' });
  useEffect(() => {
    let isCurrent = true;
    api.json<ApiObject>(...placeOf(pathOf(resource, namespace, name), at.value)).then(
      (object) => isCurrent && setKnown({ object, failure: '' }),
      (error: unknown) =>
        isCurrent &&
        setKnown((before) => ({ ...before, failure: error instanceof Error ? error.message : String(error) })),
    );
    return () => {
      isCurrent = false;
    };
  }, [tick, at.value]);
  return known;
}

const placeOf = (path: string, at: string): Parameters<Api['json']> =>
  at === '' ? [path] : [pastPath(path), { query: { time: at } }];

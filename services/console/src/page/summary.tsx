import type { ComponentChildren, VNode } from 'preact';
import { type ApiObject, containersOf, factsOf } from '../state/object.ts';
import { portHints } from '../state/port-hints.ts';
import type { ResourceName } from '../state/routes.ts';
import { ageOf } from '../state/times.ts';
import { Card } from './card.tsx';
import { Family } from './family.tsx';
import { ObjectEvents } from './object-events.tsx';
import { PlacementCard } from './placement-card.tsx';
import { useShell } from './shell.tsx';
import { WhyCard } from './why-card.tsx';

export interface SummaryProps {
  readonly object: ApiObject;
  readonly resource: ResourceName;
  readonly tick: number;
}

export function Summary({ object, resource, tick }: SummaryProps): VNode {
  const shell = useShell();
  const { metadata } = object;
  const kind = shell.kindOf(resource);
  const now = shell.shownTime;
  return (
    <div class="summary">
      <div>
        {kind !== undefined && (
          <WhyCard kind={kind} namespace={metadata.namespace ?? ''} name={metadata.name} tick={tick} />
        )}
        <PlacementCard object={object} tick={tick} />
        <Card title="Facts">
          <dl>
            <Fact title="Age">{ageOf(metadata.creationTimestamp ?? '', now)}</Fact>
            {metadata.deletionTimestamp !== undefined && (
              <Fact title="Deleted">{ageOf(metadata.deletionTimestamp, now)} ago, waits for its end</Fact>
            )}
            {factsOf(object).map(({ title, text }) => (
              <Fact key={title} title={title}>
                {text}
              </Fact>
            ))}
            <Words title="Labels" map={metadata.labels ?? {}} />
          </dl>
        </Card>
        {object.kind === 'Pod' && <Containers pod={object} />}
        <Ports object={object} />
        <Conditions object={object} />
      </div>
      <div>
        <Family object={object} tick={tick} />
        <ObjectEvents object={object} tick={tick} />
      </div>
    </div>
  );
}

const Fact = ({ title, children }: { readonly title: string; readonly children: ComponentChildren }): VNode => (
  <>
    <dt>{title}</dt>
    <dd>{children}</dd>
  </>
);

function Words({
  title,
  map,
}: {
  readonly title: string;
  readonly map: Readonly<Record<string, string>>;
}): VNode | null {
  const entries = Object.entries(map);
  if (entries.length === 0) return null;
  return (
    <Fact title={title}>
      {entries.map(([key, value]) => (
        <span key={key} class="word">
          {key}={value}
        </span>
      ))}
    </Fact>
  );
}

const Containers = ({ pod }: { readonly pod: ApiObject }): VNode => (
  <Card title="Containers">
    <ul class="lines">
      {containersOf(pod).map(({ name, image, state, ready, restarts }) => (
        <li key={name}>
          <span
            class={`tile ${ready ? 'running' : state.startsWith('terminated') ? 'finished' : 'unready'}`}
            aria-hidden="true"
          />
          <strong>{name}</strong> <span class="muted">{image}</span>
          <p>
            {state}
            {restarts > 0 && `, restarted ${restarts} time${restarts === 1 ? '' : 's'}`}
          </p>
        </li>
      ))}
    </ul>
  </Card>
);

function Ports({ object }: { readonly object: ApiObject }): VNode | null {
  const hints = portHints(object);
  if (hints.length === 0) return null;
  return (
    <Card title="From your machine">
      <ul class="lines">
        {hints.map((hint) => (
          <li key={hint}>
            <code>{hint}</code>
          </li>
        ))}
      </ul>
    </Card>
  );
}

function Conditions({ object }: { readonly object: ApiObject }): VNode | null {
  const conditions = object.status?.conditions ?? [];
  if (conditions.length === 0) return null;
  return (
    <Card title="Conditions">
      <ul class="lines">
        {conditions.map(({ type, status, reason = '', message = '' }) => (
          <li key={type}>
            <strong>{type}</strong> <span class={`truth ${status.toLowerCase()}`}>{status}</span>{' '}
            <span class="muted">{reason}</span>
            {message !== '' && <p>{message}</p>}
          </li>
        ))}
      </ul>
    </Card>
  );
}

import type { ComponentChildren, VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { type Kind, menuKinds, pluralTitle } from '../state/kinds.ts';
import { listHash, type Route } from '../state/routes.ts';
import { Mark, MenuGlyph } from './marks.tsx';
import { useShell } from './shell.tsx';
import { TimeBar } from './time-bar.tsx';

/** Menu, person and the page. */
export function Frame({ children }: { readonly children: ComponentChildren }): VNode {
  const shell = useShell();
  const route = shell.route.value;
  const [isOpen, setOpen] = useState(false);
  const main = useRef<HTMLElement>(null);
  const place = placeOf(route);
  useEffect(() => setOpen(false), [place]);
  return (
    <div class="frame">
      <a
        class="skip"
        href="#main"
        onClick={(event) => {
          event.preventDefault();
          main.current?.focus();
        }}
      >
        Skip to the page
      </a>
      <header class="bar">
        <button
          type="button"
          class="menu-button"
          aria-expanded={isOpen}
          aria-controls="menu"
          aria-label="Menu"
          onClick={() => setOpen(!isOpen)}
        >
          <MenuGlyph />
        </button>
        <a class="brand" href="#/overview">
          <Mark /> Holdfast
        </a>
        <span class="person" title="The API decides what this user may see">
          {shell.user.value}
        </span>
        <button type="button" class="quiet" onClick={() => void shell.signOut()}>
          Sign out
        </button>
      </header>
      <Menu isOpen={isOpen} />
      <main id="main" ref={main} tabIndex={-1}>
        {children}
      </main>
      {shell.range.value !== undefined && <TimeBar />}
    </div>
  );
}

function Menu({ isOpen }: { readonly isOpen: boolean }): VNode {
  const shell = useShell();
  const route = shell.route.value;
  return (
    <nav id="menu" class={isOpen ? 'menu open' : 'menu'} aria-label="Kinds">
      <ul>
        <MenuItem href="#/overview" title="Overview" isHere={route.page === 'overview'} />
        {shell.range.value !== undefined && (
          <MenuItem href="#/time" title="What changed" isHere={route.page === 'time'} />
        )}
        {shell.range.value !== undefined && (
          <MenuItem href="#/film" title="Lost nodes" isHere={route.page === 'film'} />
        )}
        <MenuItem href="#/hearing" title="Who hears whom" isHere={route.page === 'hearing'} />
        {shell.offers.value.play && <MenuItem href="#/play" title="Play" isHere={route.page === 'play'} />}
      </ul>
      {menuKinds(shell.kinds.value).map((section) => (
        <section key={section.title}>
          <h2>{section.title}</h2>
          <ul>
            {section.kinds.map((kind) => (
              <MenuItem key={kind.plural} href={listHash(kind)} title={pluralTitle(kind)} isHere={isAt(route, kind)} />
            ))}
          </ul>
        </section>
      ))}
      <ul>
        <MenuItem href="#/kinds" title="All kinds" isHere={route.page === 'kinds'} />
      </ul>
    </nav>
  );
}

interface MenuItemProps {
  readonly href: string;
  readonly title: string;
  readonly isHere: boolean;
}

const MenuItem = ({ href, title, isHere }: MenuItemProps): VNode => (
  <li>
    <a href={href} {...(isHere ? { 'aria-current': 'page' as const } : {})}>
      {title}
    </a>
  </li>
);

const isAt = (route: Route, kind: Kind): boolean =>
  (route.page === 'list' || route.page === 'object') &&
  route.resource.plural === kind.plural &&
  route.resource.group === kind.group;

const placeOf = (route: Route): string => JSON.stringify(route);

import type { VNode } from 'preact';
import type { Route } from '../state/routes.ts';
import { AllKinds } from './all-kinds.tsx';
import { FilmPage } from './film-page.tsx';
import { Frame } from './frame.tsx';
import { HearingPage } from './hearing-page.tsx';
import { ListPage } from './list-page.tsx';
import { ObjectPage } from './object-page.tsx';
import { OverviewPage } from './overview-page.tsx';
import { PlayPage } from './play-page.tsx';
import { type Shell, ShellProvider } from './shell.tsx';
import { SignIn } from './sign-in.tsx';
import { TimePage } from './time-page.tsx';

export function App({ shell }: { readonly shell: Shell }): VNode {
  const presence = shell.presence.value;
  return (
    <ShellProvider value={shell}>
      {presence === 'inside' ? (
        <Frame>
          <Page route={shell.route.value} />
        </Frame>
      ) : presence === 'outside' ? (
        <SignIn />
      ) : (
        <p class="arriving" role="status">
          Signing in
        </p>
      )}
    </ShellProvider>
  );
}

function Page({ route }: { readonly route: Route }): VNode {
  switch (route.page) {
    case 'list':
      return <ListPage key={`${route.resource.group}/${route.resource.plural}`} route={route} />;
    case 'object':
      return <ObjectPage key={`${route.resource.plural}/${route.namespace}/${route.name}`} route={route} />;
    case 'kinds':
      return <AllKinds />;
    case 'time':
      return <TimePage />;
    case 'play':
      return <PlayPage />;
    case 'hearing':
      return <HearingPage />;
    case 'film':
      return <FilmPage key={route.node} node={route.node} />;
    case 'overview':
      return <OverviewPage />;
  }
}

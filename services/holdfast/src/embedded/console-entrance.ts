import type { ApiHandler } from '@holdfast/client';
import type { Offers } from '@holdfast/console';
import { linkPath, Sessions, type SessionsDeps } from '@holdfast/console/sessions';
import type { Log } from '@holdfast/platform';

export interface ConsoleEntrance {
  /** The API with the console beside it, below `/ui`. */
  readonly handle: ApiHandler;
  /** A path that signs one browser in, once and soon. */
  readonly link: (token: string, user: string) => string | undefined;
}

/** Until somebody opens the console, it costs the start two small modules and a request one comparison of its path. */
export function createConsoleEntrance(
  deps: SessionsDeps & { readonly handle: ApiHandler; readonly log: Log; readonly offers: Offers },
): ConsoleEntrance {
  const { handle, log, offers } = deps;
  const sessions = new Sessions(deps);
  let opened: Promise<ApiHandler> | undefined;
  const open = async (): Promise<ApiHandler> =>
    (await import('@holdfast/console')).createConsoleHandler({ sessions, handle, log, offers });
  return {
    handle: async (request) => {
      if (!isConsolePath(request.path)) return handle(request);
      return (await (opened ??= open()))(request);
    },
    link: (token, user) => {
      const code = sessions.issueCode(token, user);
      return code === undefined ? undefined : linkPath(code);
    },
  };
}

const isConsolePath = (path: string): boolean => path === '/ui' || path.startsWith('/ui/');

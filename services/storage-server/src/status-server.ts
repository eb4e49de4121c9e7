import {
  createStatusServer as createServer,
  metricsAnswer,
  type StatusAnswer,
  type StatusServer,
  statusText,
} from '@holdfast/platform/status-server';

export interface StatusSource {
  metrics(): string;
  isReady(): boolean;
}

/** Serves status and metrics of the storage server to programs of this machine. Read-only. */
export const createStatusServer = (address: string, source: StatusSource): StatusServer =>
  createServer({ component: 'storage server', address, answer: (path) => answerTo(path, source) });

function answerTo(path: string, source: StatusSource): StatusAnswer {
  switch (path) {
    case '/metrics':
      return metricsAnswer(source.metrics());
    case '/healthz':
    case '/livez':
      return statusText(200, 'ok');
    case '/readyz':
      return source.isReady() ? statusText(200, 'ok') : statusText(503, 'the server does not listen yet');
    default:
      return statusText(404, 'there are /metrics, /healthz, /livez and /readyz');
  }
}

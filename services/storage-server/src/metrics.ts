import { MetricRegistry } from '@holdfast/platform';

export interface StorageMetrics {
  /** `result`: ok, or the code of the refusal. */
  answered(operation: string, result: string): void;
  moved(direction: 'read' | 'written', bytes: number): void;
  render(): string;
}

export function createStorageMetrics(read: { connections(): number; volumes(): number }): StorageMetrics {
  const registry = new MetricRegistry();
  registry.gauge('storage_server_connections', 'Open connections.', () => [['', read.connections()]]);
  registry.gauge('storage_server_volumes', 'Volumes that exist.', () => [['', read.volumes()]]);
  const requests = registry.counter(
    'storage_server_requests_total',
    'Requests by operation and result; "stale" counts writers of earlier attachments.',
    ['operation', 'result'],
  );
  const bytes = registry.counter('storage_server_bytes_total', 'Bytes of volumes, read and written.', ['direction']);
  return {
    answered: (operation, result) => requests.add([operation, result]),
    moved: (direction, count) => bytes.add([direction], count),
    render: () => registry.render(),
  };
}

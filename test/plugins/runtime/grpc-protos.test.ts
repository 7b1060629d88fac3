import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import type { FileDescriptor, MessageDescriptor } from '../../../foundation/protobuf/descriptors.ts';
import { loadProto } from '../../../foundation/protobuf/load-proto.ts';
import { PROTOS, SERVICES } from './grpc-kit.ts';

const root = fileURLToPath(PROTOS);
const entries = await readdir(root, { recursive: true });
const files = entries.filter((file) => file.endsWith('.proto')).sort();

/** The file of a service as it is declared. */
function declared(name: keyof typeof SERVICES): FileDescriptor {
  const proto = path.join(root, `svc/${name}/v1/${name}.proto`);
  const found = loadProto({ proto, service: SERVICES[name] }).files;
  return found.find((file) => file.package === `svc.${name}.v1`)!;
}

test('the files keep the standard rules of Buf’s linter', async (t) => {
  t.deepEqual(
    files,
    Object.keys(SERVICES)
      .map((name) => `svc/${name}/v1/${name}.proto`)
      .sort(),
  );
  for (const name of Object.keys(SERVICES) as (keyof typeof SERVICES)[]) {
    const file = declared(name);
    const text = await readFile(path.join(root, `svc/${name}/v1/${name}.proto`), 'utf8');
    t.regex(text, /^syntax = "proto3";$/m);
    for (const [, imported] of text.matchAll(/^import "google\/protobuf\/(\w+)\.proto";$/gm))
      t.regex(text, new RegExp(`google\\.protobuf\\.${imported}\\b`, 'i'), `${name} uses ${imported}`);
    t.notRegex(text, /^import (public|weak)/m);
    const [service, ...others] = file.service ?? [];
    t.deepEqual(others, []);
    t.regex(service!.name, /^[A-Z][A-Za-z0-9]*Service$/);
    for (const method of service!.method ?? []) {
      t.regex(method.name, /^[A-Z][A-Za-z0-9]*$/);
      t.is(method.inputType, `.svc.${name}.v1.${method.name}Request`);
      t.is(method.outputType, `.svc.${name}.v1.${method.name}Response`);
    }
    for (const message of file.messageType ?? []) {
      t.regex(message.name, /^[A-Z][A-Za-z0-9]*$/);
      for (const field of message.field ?? []) t.regex(field.name, /^[a-z][a-z0-9]*(_[a-z0-9]+)*$/);
    }
    t.deepEqual(file.enumType ?? [], [], 'values of fields are the words of the specification, not enums');
  }
});

test('each service, method, message and field has a comment', async (t) => {
  for (const file of files) {
    const lines = (await readFile(path.join(root, file), 'utf8')).split('\n');
    const bare = lines.filter(
      (line, index) =>
        /^\s*(service|rpc|message|enum|oneof|(repeated |optional )?[\w.]+ \w+ = \d+;)/.test(line) &&
        !lines[index - 1]!.trim().startsWith('//'),
    );
    t.deepEqual(bare, [], file);
  }
});

/** `name: type` of each field of a message. */
function fieldsOf(name: keyof typeof SERVICES, message: string): readonly string[] {
  const found = declared(name).messageType!.find((one: MessageDescriptor) => one.name === message)!;
  return found.field!.map(({ name: field, type, typeName, label }) => {
    const own = (typeName ?? type.slice('TYPE_'.length).toLowerCase()).replace(/^\..*\./, '');
    return `${field}: ${own}${label === 'LABEL_REPEATED' ? '[]' : ''}`;
  });
}

test('messages hold what is agreed on', (t) => {
  const has = (name: keyof typeof SERVICES, message: string, fields: string) => {
    const all = fieldsOf(name, message);
    for (const field of fields.split(', ')) t.true(all.includes(field), `${message} lacks ${field}: ${all}`);
  };
  has('agent', 'Agent', 'id: string, name: string, description: string, type: string, configuration: Struct');
  has('agent', 'Agent', 'created_at: Timestamp, updated_at: Timestamp, status: string');
  has('conversation', 'ChatRequest', 'session_id: string, message: string, extra: Struct');
  has('conversation', 'ChatResponse', 'event_type: string, delta: string, message: Message');
  has('conversation', 'ChatResponse', 'tool_call: ToolCall, error: ChatError, usage: Usage');
  has('model', 'Model', 'id: string, name: string, provider: string, capabilities: string[], config: Struct');
  has('model', 'Model', 'enabled: bool, context_length: int32');
  has('model', 'TestModelRequest', 'model_id: string, prompt: string');
  has('model', 'TestModelResponse', 'success: bool, response: string, latency_ms: int32, error: string');
  has('tool', 'Tool', 'id: string, name: string, description: string, parameters_schema: Struct');
  has('tool', 'Tool', 'output_schema: Struct, enabled: bool');
  has('tool', 'InvokeToolRequest', 'tool_id: string, parameters: Struct, context: Struct');
  has('tool', 'InvokeToolResponse', 'success: bool, output: string, error: string, execution_ms: int32');
  for (const [name, noun] of [
    ['agent', 'Agent'],
    ['conversation', 'Conversation'],
    ['model', 'Model'],
    ['tool', 'Tool'],
  ] as const) {
    has(name, `List${noun}sRequest`, 'page: int32, page_size: int32, keyword: string');
    has(name, `List${noun}sResponse`, `${name}s: ${noun}[], total: int32, has_more: bool`);
  }
});

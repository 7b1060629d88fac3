import path from 'node:path';
import test from 'ava';
import { parseObjectStoreUrl } from '../../../foundation/objects/object-store-url.ts';

test('without a setting objects are files below the data folder', (t) => {
  t.deepEqual(parseObjectStoreUrl(undefined, './data'), {
    url: { form: 'files', folder: path.join('data', 'objects'), isDefault: true },
  });
});

test('a URL says where objects are', (t) => {
  const s3 = { form: 's3', bucket: 'my.bucket-1', endpoint: undefined, region: undefined, pathStyle: false };
  const minio = { ...s3, endpoint: 'http://minio:9000', region: 'us-east-1', pathStyle: true };
  const cases: Record<string, object> = {
    none: { form: 'none' },
    'file:objects': { form: 'files', folder: 'objects' },
    'file:./a/b': { form: 'files', folder: './a/b' },
    'file:/srv/objects': { form: 'files', folder: '/srv/objects' },
    'file:///srv/objects': { form: 'files', folder: '/srv/objects' },
    'FILE:/a%20b%25': { form: 'files', folder: '/a b%' },
    'plugin://acme/box.1': { form: 'plugin', name: 'plugin/acme/box.1' },
    's3://my.bucket-1': s3,
    's3://my.bucket-1/': s3,
    's3://my.bucket-1?region=eu-central-1': { ...s3, region: 'eu-central-1' },
    's3://my.bucket-1?endpoint=http://minio:9000': minio,
    's3://my.bucket-1?endpoint=http%3A%2F%2Fminio%3A9000&region=x1': { ...minio, region: 'x1' },
    's3://my.bucket-1?endpoint=http://minio:9000&path_style=false': { ...minio, pathStyle: false },
    's3://my.bucket-1?path_style=true': { ...s3, pathStyle: true },
  };
  for (const [text, url] of Object.entries(cases))
    t.deepEqual(parseObjectStoreUrl(text, 'data') as object, { url }, text);
});

test('what cannot be used is refused with the reason, and no secret is repeated', (t) => {
  const cases: [string, RegExp][] = [
    ['', /not the URL of an object store/],
    ['None', /not the URL of an object store/],
    ['/srv/objects', /not the URL of an object store/],
    ['http://minio', /not the URL of an object store/],
    ['s3:bucket', /not the URL of an object store/],
    ['file:', /names no folder/],
    ['plugin:acme/box', /names no store of a plugin/],
    ['plugin://acme', /names no store of a plugin/],
    ['plugin://Acme/box', /names no store of a plugin/],
    ['plugin://acme/box/x', /names no store of a plugin/],
    ['plugin://user:secret@acme/box', /names no store of a plugin/],
    ['file://', /names no folder/],
    ['file://host/path', /names no folder/],
    ['file:/a?mode=1', /no query/],
    ['file:/a#b', /no query/],
    ['file:/a%zz', /%25/],
    ['file:/a%00', /NUL/],
    ['s3://', /complete URL|no bucket/],
    ['s3://ab', /no bucket/],
    ['s3://Bucket', /no bucket/],
    ['s3://buck_et', /no bucket/],
    ['s3://bucket:90', /no bucket/],
    ['s3://bucket/folder', /nothing but a query/],
    ['s3://bucket#x', /nothing but a query/],
    ['s3://secretkey:secret@bucket', /AWS_ACCESS_KEY_ID/],
    ['s3://bucket?endpoin=http://x', /unknown key "endpoin", known are endpoint, region, path_style/],
    ['s3://bucket?region=a&region=b', /region twice/],
    ['s3://bucket?endpoint=minio:9000', /endpoint/],
    ['s3://bucket?endpoint=', /endpoint/],
    ['s3://bucket?endpoint=http://u:secret@x', /endpoint/],
    ['s3://bucket?endpoint=http://x?secret=1', /endpoint/],
    ['s3://bucket?region=', /region/],
    ['s3://bucket?region=a b', /region/],
    ['s3://bucket?path_style=yes', /path_style/],
  ];
  for (const [text, message] of cases) {
    const parsed = parseObjectStoreUrl(text, 'data');
    t.true('problem' in parsed, text);
    if (!('problem' in parsed)) continue;
    t.regex(parsed.problem, message);
    t.notRegex(parsed.problem, /secret/);
  }
});

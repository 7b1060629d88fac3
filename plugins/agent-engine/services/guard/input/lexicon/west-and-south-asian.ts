import type { Lexicon } from '../concept.ts';

/** Arabic: the lexicon writes conjunctions and articles where they are common. */
export const arabic: Lexicon = {
  override:
    'تجاهل, تجاهلي, تجاهلوا, وتجاهل, انس, انسى, انسَ, وانس, تغاض, تخط, تجاوز, وتجاوز, لا تتبع, لا تلتزم, توقف عن اتباع, ألغ, الغ, أهمل, عطل, احذف, امسح, اترك, تخلص من, اكسر, خالف',
  overrideLast: 'لم تعد سارية, ملغاة, لاغية, لم تعد صالحة, لا تنطبق',
  prior:
    'السابقة, السابق, أعلاه, السالفة, الأصلية, الأصلي, الأولية, قبل, سابقا, السابقه, المذكورة, الحالية, الماضية',
  rules:
    'التعليمات, تعليمات*, القواعد, قواعد*, الأوامر, أوامر*, التوجيهات, توجيهات*, القيود, قيود*, الإرشادات, إرشادات*, السياسات, المبادئ, بالتعليمات, بالقواعد, المرشحات, ضوابط*, الضوابط, التوجيه',
  prompt:
    'موجه النظام, مطالبة النظام, رسالة النظام, تعليمات النظام, التعليمات المخفية, التعليمات السرية, التعليمات الأصلية, التعليمات الأولية, التعليمات الداخلية, تعليماتك, الأوامر المخفية, القواعد السرية, القواعد الداخلية, الموجه الأصلي, تعليماتك الأولية, برومبت النظام, نص النظام, الموجه السري, القواعد المخفية, موجه نظامك',
  aboveText:
    'كل ما سبق, النص أعلاه, كل النص أعلاه, ما ورد أعلاه, كل ما ورد أعلاه, كل ما قيل لك, السياق بأكمله, الكلام أعلاه, ما سبق',
  your: 'الخاصة بك, الخاص بك, لديك, المعطاة لك, تلقيتها, التي أعطيت لك, أعطيت لك, تعليماتك, قواعدك, قيودك, التي لديك, المفروضة عليك, عليك',
  my: 'رسالتي, كلامي, ما قلته, طلبي, تعليماتي, الخاصة بي, بريدي, رسائلي',
  all: 'كل, جميع, كافة, أي, كامل, بجميع',
  reveal:
    'أظهر, اظهر, اعرض, أعرض, اكشف, اطبع, كرر, اكتب, أخبرني, اخبرني, قل لي, ما هي, ما هو, اذكر, أعطني, اعطني, شارك, انسخ, ترجم, لخص, أفصح, سرب, وأظهر, واعرض, واكشف, واطبع, وأخبرني, أعد, اسرد, أرني, ارني, وكرر, أرسل لي',
  verbatim:
    'حرفيا, حرفيًا, كلمة بكلمة, بالكامل, كما هي, كما هو, نصا, دون حذف, بالضبط, كاملة, كاملا, كتلة كود, بالنص',
  role: 'أنت الآن, انت الان, من الآن, من الآن فصاعدا, تظاهر, تصرف, تصرف كأنك, العب دور, تقمص, تخيل أنك, فعل, قم بدور, ابتداء من الآن, بعد الآن, ادخل وضع, مثل دور, لم تعد, أجب بصفتك, تقمص شخصية, فعّل',
  unbound:
    'بدون قيود, بلا قيود, دون قيود, دون أي قيود, بدون أي قيود, بلا أي قيود, بدون قواعد, بلا قواعد, دون قواعد, بدون حدود, بلا حدود, بدون رقابة, بلا رقابة, دون رقابة, غير مقيد, بدون فلتر*, بلا فلاتر, وضع المطور, وضع المطورين, لا يخضع لأي, لا تخضع لأي, لا قيود, لا قواعد, بدون أخلاق*, بلا أخلاق, لا يرفض, لا ترفض, لا ترفض أبدا, أي شيء الآن, متحرر من, ليس لديك قيود, ليس لديك أي قيود, ليس له قيود, ليس عليك أي, كسر الحماية',
  ethics: 'أخلاقية, الأخلاقية, أخلاق*, الرقابة, السلامة, الأمان, سياسة المحتوى',
  not: 'لا, لم, لن, بدون, دون, عدم',
  follow: 'اتبع, نفذ, أطع, امتثل, ونفذ, واتبع, التزم',
  fresh:
    'تعليمات جديدة, التعليمات الجديدة, مهمة جديدة, قواعد جديدة, بدلا من ذلك, بدلا من, المهمة الحقيقية, مهمتك الجديدة, فقط',
  send: 'أرسل, ارسل, ابعث, انقل, ارفع, حول, أرفق, وأرسل, انشر, إرسال',
  private:
    'المحادثة, سجل المحادثة, كلمة المرور, كلمات المرور, كلمة السر, كلمات السر, بيانات المستخدم, البيانات الشخصية, مفاتيح*, المفاتيح, مفتاح api, الأسرار, السرية, معلومات سرية, بطاقة الائتمان, بيانات الاعتماد, البيانات الخاصة, بيانات العملاء, محادثة, الدردشة',
  destination: 'هذا العنوان, العنوان التالي, إلى العنوان, الرابط, هذا الرابط',
  reader:
    'الذكاء الاصطناعي, ذكاء اصطناعي, مساعد الذكاء, نموذج لغوي, النموذج اللغوي, نماذج اللغة, المساعد, المساعد الذكي, وكيل, الوكيل, المساعدين',
  hide: 'لا تخبر المستخدم, دون إخبار, دون علم, بدون علم, لا تذكر ذلك, لا تذكر, دون ذكر, سرا, دون تأكيد, بدون تأكيد, لا تسأل المستخدم, دون إعلام, خفية, بسرية',
  mention:
    'هجوم, هجمات, الهجمات, مهاجم, المهاجمين, كشف, اكتشاف, حماية, الحماية, منع, مثل, مثال, أمثلة, ترجم, ترجمة, ما معنى, ماذا يعني, ماذا تعني, اشرح, شرح, شخص, أحدهم, عبارة, عبارات, جملة, مقال, الأمن, كيف, حقن, رواية',
  call: 'استدع, استخدم الأداة, نفذ الأمر, شغل الأمر, افتح الرابط, زر',
  decode: 'فك تشفير, فك ترميز, فك شفرة',
  harmless: 'لا تنس, لا تنسى, لا تتجاهل, لا تنسي, عدم تجاهل, عدم نسيان, اكتب لي, قبل أن, من فضلك',
};

/** Hindi: verbs come last; also in Latin letters. */
export const hindi: Lexicon = {
  overrideLast:
    'अनदेखा कर*, अनदेखा, नज़रअंदाज़, नज़रअंदाज कर*, नजरअंदाज, इग्नोर, भूल जाओ, भूल जाइए, भूल जाएं, भूल जा*, भुला, उपेक्षा, दरकिनार, पालन मत, पालन न कर*, पालन नहीं, रद्द, मत मानो, तोड़ो, हटा*, बंद करो, बायपास, लागू नहीं, मानना बंद, छोड़ो, ignore karo, ignore kar do, bhool jao, bhul jao, nazarandaaz karo',
  prior:
    'पिछले, पिछली, पहले, पूर्व, ऊपर, उपरोक्त, मूल, प्रारंभिक, शुरुआती, पुराने, पुराने सभी, पूर्ववर्ती, दिए गए, अब तक, pichle, pichli, pehle, purane',
  rules:
    'निर्देश*, नियम*, आदेश*, प्रतिबंध*, दिशानिर्देश*, दिशा निर्देश*, सीमा*, प्रॉम्प्ट*, पाबंदि*, नीति*, हिदायत*, फ़िल्टर, फिल्टर, instructions, nirdesh, niyam, rules',
  prompt:
    'सिस्टम प्रॉम्प्ट, सिस्टम प्रॉम्ट, सिस्टम प्रोम्प्ट, सिस्टम संदेश, सिस्टम निर्देश*, सिस्टम मैसेज, छिपे हुए निर्देश*, छिपे निर्देश*, गुप्त निर्देश*, मूल निर्देश*, प्रारंभिक निर्देश*, आंतरिक निर्देश*, शुरुआती निर्देश*, गुप्त नियम*, आंतरिक नियम*, छिपे हुए नियम*, प्रारंभिक प्रॉम्प्ट, छुपे हुए निर्देश*',
  aboveText: 'ऊपर का सारा, ऊपर लिखा, ऊपर दिया गया, ऊपर का पाठ, ऊपर लिखी, ऊपर का टेक्स्ट, पूरा संदर्भ, ऊपर जो कुछ',
  your: 'अपने, अपनी, अपना, आपके, आपका, आपकी, तुम्हारे, तुम्हारा, तुम्हारी, तुम्हें, आपको, दिए गए, मिले, apne, apna, apni, tumhare, aapke',
  my: 'मेरे, मेरा, मेरी, मैंने, हमारे, हमारी, हमारा, mere, meri, mera',
  all: 'सभी, सब, सारे, सारी, सब कुछ, हर, कोई भी, पूरे, sabhi, saare, sab',
  revealLast:
    'दिखाओ, दिखाएं, दिखाइए, दिखा दो, बताओ, बताएं, बताइए, बता दो, प्रकट कर*, दोहराओ, दोहराएं, दोहराइए, प्रिंट कर*, लिखो, लिखें, लिखिए, उजागर, साझा कर*, क्या है, क्या हैं, क्या लिखा, खुलासा, कॉपी कर*, अनुवाद कर*, दो, दें, dikhao, batao, likho, bata do, dikha do, kya hai',
  verbatim:
    'शब्दशः, शब्द दर शब्द, हूबहू, पूरा का पूरा, पूरा, पूरी तरह, ज्यों का त्यों, अक्षरशः, बिना कुछ छोड़े, जैसा है, कोड ब्लॉक',
  role: 'अब तुम, अब आप, अब से तुम, अब से आप, अब से, आज से तुम, नाटक करो, नाटक कर*, दिखावा, भूमिका, कल्पना कर*, की तरह व्यवहार, की तरह काम, बन जाओ, सक्रिय कर*, मोड, के रूप में, तुम अब, आप अब, ab se tum, ab tum',
  unbound:
    'बिना किसी प्रतिबंध, बिना प्रतिबंध, बिना किसी नियम, बिना नियम*, बिना किसी सीमा, बिना सीमा, कोई प्रतिबंध नहीं, कोई नियम नहीं, कोई सीमा नहीं, बिना फ़िल्टर, बिना फिल्टर, बिना सेंसर*, बिना किसी रोक, डेवलपर मोड, कुछ भी कर सकते, कुछ भी कर सकता, कभी मना नहीं, मना नहीं, कोई रोक नहीं, बिना नैतिक*, बिना किसी नैतिक*, अप्रतिबंधित, असीमित, bina kisi rok, bina kisi restriction*, koi rules nahi, koi restriction* nahi, koi niyam nahi',
  ethics: 'नैतिक*, सुरक्षा, सेंसर*',
  not: 'मत, नहीं, न, बिना',
  follow: 'पालन कर*, मानो, का पालन, निष्पादित',
  fresh:
    'नए निर्देश*, नया निर्देश, नया काम, नया कार्य, नए नियम*, इसके बजाय, इसकी जगह, असली काम, असली कार्य, केवल मेरी',
  send: 'भेजो, भेजें, भेज दो, भेज, अपलोड, पोस्ट कर*, फॉरवर्ड, भेजिए, bhejo',
  private:
    'बातचीत, चैट इतिहास, पासवर्ड*, गुप्त जानकारी, क्रेडेंशियल*, एपीआई कुंजी, api कुंजी, उपयोगकर्ता का डेटा, उपयोगकर्ता की जानकारी, निजी जानकारी, व्यक्तिगत जानकारी, गोपनीय, टोकन, क्रेडिट कार्ड, निजी डेटा, ग्राहक डेटा, उपयोगकर्ता डेटा',
  destination: 'इस पते, इस लिंक, निम्न पते, इस यूआरएल',
  reader: 'एआई सहायक, एआई, भाषा मॉडल, कृत्रिम बुद्धिमत्ता, सहायक, एजेंट, यदि आप एआई, अगर आप एआई',
  hide: 'उपयोगकर्ता को मत, उपयोगकर्ता को न, उपयोगकर्ता को नहीं, बिना बताए, चुपके से, गुप्त रूप से, उल्लेख न कर*, उल्लेख मत, ज़िक्र मत, जिक्र मत, बिना पुष्टि, बिना पूछे, चुपचाप',
  mention:
    'हमला, हमले, हमलावर*, पता लगा*, बचाव, रोकने, रोकना, सुरक्षा, उदाहरण*, जैसे, वाक्य*, अनुवाद, मतलब, अर्थ, समझा*, कोई व्यक्ति, कैसे, लेख, इंजेक्शन, उपन्यास, कहानी',
  call: 'टूल को कॉल, टूल का उपयोग, कमांड चला*, लिंक खोल*',
  decode: 'डिकोड, डीकोड',
  harmless:
    'मत भूल*, न भूल*, भूलना मत, अनदेखा न कर*, अनदेखा मत, नज़रअंदाज़ न कर*, भूलें नहीं, सिस्टम प्रॉम्प्ट कैसे, सिस्टम प्रॉम्प्ट लिख*, कृपया',
};

/** Turkish: verbs come last, negation is an ending. */
export const turkish: Lexicon = {
  overrideLast:
    'yok say, yoksay, yok sayın, görmezden gel*, göz ardı et, göz ardı edin, gözardı et, unut, unutun, unutup, dikkate alma*, uyma, uymayı bırak, uymayı kes, uymak zorunda değilsin, boşver, atla, devre dışı bırak*, iptal et*, geçersiz*, bir kenara bırak*, çiğne, takip etme, uygulama, kaldır, kapat, yok sayarak, ihlal et, artık geçerli değil, bırak',
  prior:
    'önceki, yukarıdaki, daha önceki, orijinal, ilk, başlangıç, evvelki, şimdiye kadar*, bundan önceki, daha önce, mevcut, verilen, eski',
  rules:
    'talimat*, kural*, yönerge*, komutlar*, emir*, emr*, kısıtlama*, sınırlama*, direktif*, istem*, filtre*, politika*, prompt*, yönlendirme*, ilkeler*',
  prompt:
    'sistem istemi*, sistem promptu*, sistem prompt*, sistem mesajı*, sistem talimat*, sistem komutu*, gizli talimat*, ilk talimat*, orijinal talimat*, başlangıç talimat*, gizli yönerge*, sistem yönerge*, iç talimat*, dahili talimat*, başlangıç istemi*, gizli kural*, iç kural*, gizli istem*, ilk istem*',
  aboveText:
    'yukarıdaki her şey*, yukarıdaki metn*, yukarıdaki tüm metn*, yukarıdaki tüm*, yukarıda yazan*, bundan önceki her şey*, tüm bağlam*, sana söylenen her şey*',
  your: 'senin, sana, sizin, size, kendi, verilen, talimatlarını, kurallarını, talimatların, kuralların, aldığın',
  my: 'benim, söylediğim, yazdığım, bizim, mesajımı, e postamı',
  all: 'tüm, bütün, her, hepsi*, herhangi',
  revealLast:
    'göster*, açıkla, açıklayın, ifşa et*, yazdır*, tekrarla*, tekrar et*, yaz, yazın, söyle, söyleyin, paylaş, paylaşın, nedir, nelerdir, neler, ver, dök, aktar, çevir, kopyala*, listele*, özetle*, ortaya çıkar*, sızdır*, oku, görmek istiyorum, alıntıla*, ne yazıyor',
  verbatim:
    'kelimesi kelimesine, aynen, harfi harfine, eksiksiz, tam olarak, olduğu gibi, bir kod bloğu, tamamını, birebir, hiçbir şeyi atlamadan',
  role: 'artık sen, sen artık, şu andan itibaren, bundan sonra, bundan böyle, gibi davran*, rolünü, rol yap*, gibi yap*, olduğunu hayal et*, mış gibi, moduna, modunu, olarak davran*, olarak hareket, olarak cevap, artık bir, hayal et*, etkinleştir*, taklidi yap*, aktif et*',
  unbound:
    'kısıtlaması olmayan, hiçbir kısıtlama*, kısıtlama olmadan, kısıtlamasız, sınırsız, sınırı olmayan, hiçbir sınır*, kuralı olmayan, kuralsız, hiçbir kural*, kural tanıma*, sansürsüz, filtresiz, hiçbir filtre*, sansür olmadan, geliştirici modu*, her şeyi yapabil*, asla reddetme*, hiçbir şeyi reddetme*, etik kuralları olmayan, ahlaki sınır*, etik sınır*, tanrı modu*, kısıtlamalardan kurtul*, etik olmayan, ahlak kuralı olmayan',
  ethics: 'etik, ahlaki, ahlak, sansür*, güvenlik',
  not: 'değil, asla, olmadan, hiçbir zaman',
  follow: 'uygula, takip et, yerine getir*, itaat et*, uy, yürüt',
  fresh:
    'yeni talimat*, yeni görev*, yeni kural*, bunun yerine, onun yerine, gerçek görev*, yalnızca bana, sadece bana, yeni yönerge*',
  send: 'gönder*, ilet, iletin, yükle*, yolla*, aktar*, postala*',
  private:
    'konuşma*, sohbet geçmişi*, sohbet*, parola*, şifre*, kimlik bilgi*, api anahtar*, anahtarı*, gizli bilgi*, kullanıcı veri*, kullanıcının veri*, kişisel veri*, kişisel bilgi*, kredi kart*, jeton*, müşteri veri*, kullanıcının bilgi*',
  destination: 'bu adres*, şu adres*, aşağıdaki adres*, adresine',
  reader:
    'yapay zeka, yapay zekâ, yapay zeka asistan*, dil modeli, dil modelleri, asistan, eğer bir yapay zeka, asistanlar',
  hide: 'kullanıcıya söyleme*, kullanıcıya bildirme*, kullanıcıya haber verme*, bahsetme*, bundan bahsetmeden, gizlice, habersiz, haber vermeden, kullanıcıya sormadan, onay almadan, onay istemeden, sessizce, söylemeden, belli etmeden',
  mention:
    'saldırı*, saldırgan*, tespit*, önle*, koru*, örneğin, örnek*, mesela, cümle*, çevir, çeviri*, ne demek, anlamı*, açıkla, birisi, biri, güvenlik, makale*, nasıl, ifade*, enjeksiyon*, roman*, öğrenci*, gibi ifadeler*',
  call: 'aracını çağır*, aracı çağır*, aracını kullan*, komutunu çalıştır*, komutu çalıştır*, bağlantıyı aç*, ziyaret et*',
  decode: 'şifresini çöz*, kodunu çöz*, çözümle*',
  harmless:
    'unutma, unutmayın, unutmamak, göz ardı etme, görmezden gelme, yok sayma, bir sistem istemi, sistem istemi yazma*, bir sistem promptu, görmezden gelme*, unutulma*, sil baştan',
};
